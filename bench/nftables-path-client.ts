// The asking side of nftables-path.ts: opens connections one after another, and tells how long each took.
// Arguments: address, port, how many.
import { connect } from 'node:net';

const [host, port, count] = process.argv.slice(2) as [string, string, string];
const times: number[] = [];
const startedAt = performance.now();
for (let i = 0; i < Number(count); i++) {
  const before = performance.now();
  await new Promise<void>((resolve, reject) => {
    const socket = connect(Number(port), host, () => {
      times.push(performance.now() - before);
      socket.resetAndDestroy();
      resolve();
    });
    socket.on('error', reject);
  });
}
const seconds = (performance.now() - startedAt) / 1000;
times.sort((a, b) => a - b);
console.log(JSON.stringify({ medianUs: times[times.length >> 1]! * 1000, perSecond: times.length / seconds }));
