import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceLookupIn, parseRoutes, parseRoutes6 } from './trace-routes.ts';

const ROUTES = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0132A8C0	0003	0	0	0	00000000	0	0	0
cni0	0001F40A	00000000	0001	0	0	0	00FFFFFF	0	0	0
cali1	0701F40A	00000000	0005	0	0	0	FFFFFFFF	0	0	0
*	0002F40A	00000000	0201	0	0	0	00FFFFFF	0	0	0
`;

const ROUTES6 = `fd000010024400010000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 00000001 00000000 00000001     cni0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0
`;

test('the most specific route tells the device', () => {
  const device = deviceLookupIn(parseRoutes(ROUTES));
  assert.equal(device('10.244.1.7'), 'cali1');
  assert.equal(device('10.244.1.8'), 'cni0');
  assert.equal(device('203.0.113.1'), 'eth0');
});

test('routes that lead nowhere are left out', () =>
  assert.equal(
    parseRoutes(ROUTES).some(({ cidr }) => cidr === '10.244.2.0/24'),
    false,
  ));

test('so it is with IPv6', () => {
  const device = deviceLookupIn(parseRoutes6(ROUTES6));
  assert.equal(device('fd00:10:244:1::7'), 'cni0');
  assert.equal(device('2001:db8::1'), 'eth0');
});
