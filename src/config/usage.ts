// The help text, made from the table of flags.
import { FLAG_NAMES, type FlagName, type FlagSpec, specOf } from './flag-table.ts';
import { flagText } from './flag-value.ts';

const WIDTH = 100;
const INDENT = ' '.repeat(10);

export function usage(): string {
  const shown = FLAG_NAMES.filter((name) => specOf(name).deprecated === undefined);
  const upstream = shown.filter((name) => !specOf(name).isOurs).map(flagHelp);
  const ours = shown.filter((name) => specOf(name).isOurs).map(flagHelp);
  const help = `  -h, --help\n${INDENT}Print this text.\n`;
  return `Programs this node's kernel so that connections to Services reach their endpoints.

Usage:
  kube-proxy [flags]

Flags:
${help}${upstream.join('')}
Flags that only Portolan has:
${ours.join('')}      --mode string
${INDENT}Another name for --proxy-mode.
`;
}

function flagHelp(name: FlagName): string {
  const spec = specOf(name);
  const head = spec.shorthand === undefined ? `      --${name}` : `  -${spec.shorthand}, --${name}`;
  const type = spec.type === 'bool' ? '' : ` ${spec.type}`;
  return `${head}${type}${spec.type === 'version' ? '[=true]' : ''}\n${wrapped(spec.help + defaultHelp(spec))}`;
}

function defaultHelp(spec: FlagSpec): string {
  const text = flagText(spec.type, spec.default);
  return text === '' || text === 'false' || text === '[]' ? '' : ` (default ${text})`;
}

function wrapped(text: string): string {
  let lines = '';
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && INDENT.length + line.length + 1 + word.length > WIDTH) {
      lines += `${INDENT}${line}\n`;
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  return `${lines}${INDENT}${line}\n`;
}
