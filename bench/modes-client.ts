// The asking side of modes.ts. Arguments: address, port that answers, port that sends bytes, how many exchanges. At each SIGUSR2 it makes that many
// exchanges, one after another and each over its own connection, reads from the other port to the end, and prints how many
// exchanges and megabytes a second that were. It begins with a round that is not told, so that everything is warm.
import { connect } from 'node:net';

export interface Figures {
  readonly exchanges: number;
  readonly megabytes: number;
}

if (import.meta.main) {
  const [host, answerPort, sourcePort, count] = process.argv.slice(2) as [string, string, string, string];
  const round = async (): Promise<Figures> => ({
    exchanges: Number(count) / (await secondsOf(() => exchanges(host, Number(answerPort), Number(count)))),
    megabytes: await megabytesPerSecond(host, Number(sourcePort)),
  });
  process.on('SIGUSR2', () => void round().then((figures) => console.log(JSON.stringify(figures))));
  setInterval(() => {}, 60_000); // stays until it is ended
  await round();
  console.log('ready');
}

async function exchanges(host: string, port: number, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await new Promise<void>((resolve, reject) => {
      const socket = connect(port, host);
      socket.on('error', reject).on('close', () => resolve());
      socket.end('who?\n');
      socket.resume();
    });
  }
}

async function megabytesPerSecond(host: string, port: number): Promise<number> {
  let bytes = 0;
  const seconds = await secondsOf(async () => {
    for await (const chunk of connect(port, host)) bytes += (chunk as Uint8Array).length;
  });
  return bytes / 1e6 / seconds;
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}
