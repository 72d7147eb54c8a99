import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseIpvsText } from './ipvs-text.ts';

const TEXT = `-A -t 10.96.14.3:80 -s rr -p 600
-a -t 10.96.14.3:80 -r 10.50.1.11:8080 -m -w 1
-a -t 10.96.14.3:80 -r 10.50.2.22:8080 -m -w 0
-A -u [fd00::53]:53 -s sh
create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536
add KUBE-CLUSTER-IP 10.96.14.3,tcp:80
create KUBE-IPVS-IPS hash:ip family inet hashsize 1024 maxelem 65536
add KUBE-IPVS-IPS 10.96.14.3
`;

test('what ipset and ipvsadm save is read', () => {
  const beside = parseIpvsText(TEXT, 'IPv4');
  assert.ok(typeof beside !== 'string');
  assert.deepEqual([...beside.virtualServers!.keys()], ['tcp 10.96.14.3:80']);
  const { text, isSticky, destinations } = beside.virtualServers!.get('tcp 10.96.14.3:80')!;
  assert.deepEqual([text, isSticky], ['-A -t 10.96.14.3:80 -s rr -p 600', true]);
  assert.deepEqual(
    destinations.map(({ ip, port, weight }) => [ip, port, weight]),
    [
      ['10.50.1.11', 8080, 1],
      ['10.50.2.22', 8080, 0],
    ],
  );
  assert.deepEqual([...beside.ipSets!.get('KUBE-CLUSTER-IP')!.entries], ['10.96.14.3,tcp:80']);
  assert.deepEqual([...beside.addresses!], ['10.96.14.3']);
});

test('servers of the other family are left out', () => {
  const beside = parseIpvsText(TEXT, 'IPv6');
  assert.ok(typeof beside !== 'string');
  assert.deepEqual([...beside.virtualServers!.keys()], ['udp [fd00::53]:53']);
  assert.equal(beside.virtualServers!.get('udp [fd00::53]:53')!.chosenBy, 'scheduler sh');
});

test('rules alone tell nothing of IPVS mode', () =>
  assert.match(parseIpvsText('*nat\nCOMMIT\n', 'IPv4') as string, /ipset save and ipvsadm -Sn/));
