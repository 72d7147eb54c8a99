import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoriesIn } from './explain-ipvs.ts';

test('clients that a virtual server remembers are read from the kernel’s table of connections', () => {
  const table = `Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData
TCP C0A83264 0000 0A604D01 0050 0AF4010B 1F90 NONE           10791
TCP C0A83264 A1B2 0A604D01 0050 0AF4010B 1F90 FIN_WAIT         111
TCP fd00:0050:0000:0000:0000:0000:0000:0100 0000 fd00:0010:0096:0000:0000:0000:0000:0001 0050 fd00:0010:0244:0001:0000:0000:0000:0011 1F90 NONE 10791
`;
  assert.deepEqual(memoriesIn(table), [
    { client: '192.168.50.100', server: 'TCP 10.96.77.1:80', endpoint: '10.244.1.11:8080' },
    { client: 'fd00:50::100', server: 'TCP [fd00:10:96::1]:80', endpoint: '[fd00:10:244:1::11]:8080' },
  ]);
});
