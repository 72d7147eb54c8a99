// A program of its own that opens the golden network, loads a rule, prints what a probe saw, and then holds the network
// open until it is killed or its input ends. Tests start it as another user, and kill it without warning.
import { golden } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';

const network = await Network.open(golden);
const rule = ['-t', 'nat', '-A', 'PREROUTING', '-d', '10.96.0.1', '-j', 'DNAT', '--to-destination', '10.244.2.12'];
const loaded = await network.exec('n1', ['iptables', ...rule]);
const sleeper = await network.spawnIn('b1', ['sleep', '1000']);
const seen = await network.probe({ from: 'x', proto: 'tcp', to: '10.96.0.1:80', count: 5 });
console.log(JSON.stringify({ uid: process.getuid?.(), loaded, sleeper: sleeper.pid, seen }));

process.stdin.resume();
process.stdin.on('end', () => void network.close());
