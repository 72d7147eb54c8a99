// The command line of the commands that answer questions: their own options, --output, and names.
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { UsageError } from './usage-error.ts';

export function parseQuestion<T extends ParseArgsOptionsConfig>(command: string, args: readonly string[], options: T) {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
    const { output } = values as { readonly output?: string };
    if (output !== 'text' && output !== 'json') throw new Error(`--output ${output}: must be text or json`);
    return { options: values, names: positionals, isJson: output === 'json' };
  } catch (error) {
    throw new UsageError(`${(error as Error).message} (see portolan ${command} --help)`);
  }
}

export function noNames(names: readonly string[]): void {
  if (names.length > 0) throw new UsageError(`what is ${JSON.stringify(names[0])}?`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}
