// The asking side of modes.ts. Arguments: `rate` address port count: exchanges one after another, each over its own connection;
// `fetch` address port: reads to the end. Prints how many a second, or how many megabytes a second.
import { connect } from 'node:net';

const [role, host, port, count] = process.argv.slice(2) as [string, string, string, string];
let startedAt = performance.now();
const seconds = (): number => (performance.now() - startedAt) / 1000;

if (role === 'rate') {
  for (let i = 0; i < Number(count) / 10; i++) await exchange(); // until everything is warm
  startedAt = performance.now();
  for (let i = 0; i < Number(count); i++) await exchange();
  console.log(Number(count) / seconds());
} else {
  let bytes = 0;
  for await (const chunk of connect(Number(port), host)) bytes += (chunk as Uint8Array).length;
  console.log(bytes / 1e6 / seconds());
}

function exchange(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), host);
    socket.on('error', reject).on('close', () => resolve());
    socket.end('who?\n');
    socket.resume();
  });
}
