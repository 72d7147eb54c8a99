import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base32Hash } from '../../lib/hash.ts';
import type { ServicePort } from '../../model/model.ts';
import { endpointChain, isServiceChain, serviceChains } from './names.ts';

// Names that people have seen in the wild, by what is hashed.
const KNOWN: Readonly<Record<string, string>> = {
  'default/kubernetes:httpstcp': 'NPX46M4PTMTKRN6Y',
  'default/kubernetes:httpstcp192.168.205.10:6443': 'AJDQ5GXJFICQGLFW',
  'yaobank/summary:httptcp': 'OIQIZJVJK6E34BR4',
  'yaobank/customer:httptcp': 'PX5FENG4GZJTCELT',
  'kube-system/kube-dns:dnsudp': 'TCOU7JCQXEZGVUNU',
  'kube-system/kube-dns:dns-tcptcp': 'ERIFXISQEP7F7OF4',
  'default/nginx-svc:httptcp': 'ELCM5PCEQWBTUJ2I',
  'default/nginx-svc:httptcp10.244.1.2:80': 'KGZD7PWTNPWPM76Z',
  'default/nginx-svc:httptcp10.244.2.3:80': 'FUXUN3DWXBWDLOEM',
  'shop/cart:httptcp': 'I5LIAMPLWKMBJ54B',
  'shop/carttcp': 'N5W5PH5NLY2BP4HG',
  'telecom/gw:sigsctp': 'NNFOTVWO4X3VBABZ',
  'shop/cart:httptcp10.66.1.7:8080': '2IINZM43XJXX4T3B',
  'shop/carttcp10.66.1.7:8080': 'JOGAWF3KWTFAZ6NV',
  'shop/cart:httptcp[fd66::1:7]:8080': 'DVKSY43IKLIAJQGN',
};

for (const [text, hash] of Object.entries(KNOWN)) {
  test(`${text} hashes to ${hash}`, () => assert.equal(base32Hash(text, 16), hash));
}

test('the four chains of a service port share their hash', () =>
  assert.deepEqual(serviceChains(port('default/kubernetes:https', 'TCP')), {
    cluster: 'KUBE-SVC-NPX46M4PTMTKRN6Y',
    local: 'KUBE-SVL-NPX46M4PTMTKRN6Y',
    external: 'KUBE-EXT-NPX46M4PTMTKRN6Y',
    firewall: 'KUBE-FW-NPX46M4PTMTKRN6Y',
  }));

test('the protocol is part of the name', () => {
  assert.equal(serviceChains(port('kube-system/kube-dns:dns', 'UDP')).cluster, 'KUBE-SVC-TCOU7JCQXEZGVUNU');
  assert.equal(serviceChains(port('telecom/gw:sig', 'SCTP')).external, 'KUBE-EXT-NNFOTVWO4X3VBABZ');
});

test('an endpoint chain is named for service port and address', () => {
  assert.equal(endpointChain(port('default/nginx-svc:http', 'TCP'), '10.244.1.2:80'), 'KUBE-SEP-KGZD7PWTNPWPM76Z');
  assert.equal(endpointChain(port('shop/cart:http', 'TCP'), '[fd66::1:7]:8080'), 'KUBE-SEP-DVKSY43IKLIAJQGN');
});

test('only chains of services can be stale', () => {
  for (const chain of ['KUBE-SVC-X', 'KUBE-SVL-X', 'KUBE-SEP-X', 'KUBE-FW-X', 'KUBE-EXT-X'])
    assert.ok(isServiceChain(chain), chain);
  for (const chain of [
    'KUBE-SERVICES',
    'KUBE-EXTERNAL-SERVICES',
    'KUBE-FIREWALL',
    'KUBE-KUBELET-CANARY',
    'MY-KUBE-SVC-X',
  ])
    assert.ok(!isServiceChain(chain), chain);
});

function port(displayName: string, protocol: ServicePort['protocol']): ServicePort {
  return { displayName, protocol } as ServicePort;
}
