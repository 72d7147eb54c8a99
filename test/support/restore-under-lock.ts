// A program of its own that writes a table while somebody else holds the lock, and prints what it is told.
import { KernelError } from '../../src/kernel/error.ts';
import { Iptables } from '../../src/kernel/iptables.ts';

try {
  await new Iptables('IPv4', 'legacy').restore(['*filter', 'COMMIT']);
} catch (error) {
  console.log(error instanceof KernelError ? `${error.code} ${error.message}` : String(error));
}
