// Runs a command in the test machine, whose kernel has IPVS: node scripts/vm.ts -- ipvsadm -Ln
// Without a command, it only fetches what the machine needs.
import { machine, runInMachine } from '../test/vm/machine.ts';

const argv = process.argv.slice(2);
const command = argv[0] === '--' ? argv.slice(1) : argv;
const ready = machine();
if ('missing' in ready) {
  console.error(`The test machine cannot be had: ${ready.missing}`);
  process.exit(1);
}
console.error(`Linux ${ready.kernel.version} of ${ready.kernel.image}`);
if (command.length > 0) {
  const run = await runInMachine(ready, command, { timeoutMs: 600_000, onLine: (line) => console.log(line) });
  process.exit(run.status ?? 1);
}
