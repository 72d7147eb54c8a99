// The pages /flagz and /statusz: which flags the process runs with, and what it is.
// In: the facts and the Accept header. Out: text for people, or a versioned object for programs that name it exactly.
import { acceptedRanges } from './accept.ts';
import { PLAIN_TEXT, type Reply, reply } from './reply.ts';
import { rfc3339 } from './rfc3339.ts';

export interface Status {
  readonly startedAt: number;
  /** The runtime, in the place where upstream names its Go version. */
  readonly goVersion: string;
  /** `1.36.4` */
  readonly binaryVersion: string;
  /** `1.36` */
  readonly emulationVersion: string;
  readonly paths: readonly string[];
}

/** Differs from process to process so that nobody comes to depend on the text. */
export type Separator = ':' | ': ' | '=' | ' ';
export const SEPARATORS: readonly Separator[] = [':', ': ', '=', ' '];

export function flagzReply(
  accept: string | undefined,
  flags: Readonly<Record<string, string>>,
  separator: Separator,
): Promise<Reply> {
  const sorted = Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1));
  return negotiated('Flagz', accept, separator, sorted, { flags: Object.fromEntries(sorted) });
}

export function statuszReply(
  accept: string | undefined,
  status: Status,
  separator: Separator,
  now: number,
): Promise<Reply> {
  const { startedAt, paths, ...versions } = status;
  const uptimeSeconds = Math.floor((now - startedAt) / 1000);
  const lines: [string, string][] = [
    ['Started', rfc3339(startedAt)],
    ['Up', uptimeText(uptimeSeconds)],
    ['Go version', versions.goVersion],
    ['Binary version', versions.binaryVersion],
    ['Emulation version', versions.emulationVersion],
    ['Paths', paths.join(' ')],
  ];
  const startTime = rfc3339(startedAt);
  return negotiated('Statusz', accept, separator, lines, { startTime, uptimeSeconds, ...versions, paths });
}

/** `0 hr 05 min 09 sec` */
export function uptimeText(seconds: number): string {
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${Math.floor(seconds / 3600)} hr ${two(Math.floor(seconds / 60) % 60)} min ${two(seconds % 60)} sec`;
}

type Kind = 'Flagz' | 'Statusz';
type Form = { readonly kind: 'text' } | { readonly kind: 'json' | 'yaml'; readonly version: 'v1beta1' | 'v1alpha1' };

async function negotiated(
  kind: Kind,
  accept: string | undefined,
  separator: Separator,
  lines: readonly (readonly [string, string])[],
  fields: Readonly<Record<string, unknown>>,
): Promise<Reply> {
  const form = chooseForm(kind, accept);
  if (!form) return reply(406, PLAIN_TEXT, `${NOT_ACCEPTABLE.replaceAll('KIND', kind)}\n`);
  if (form.kind === 'text') {
    return reply(200, PLAIN_TEXT, header(kind) + lines.map((line) => `${line.join(separator)}\n`).join(''));
  }
  const apiVersion = `config.k8s.io/${form.version}`;
  const document = { kind, apiVersion, metadata: { name: 'kube-proxy' }, ...fields };
  const answer = reply(200, `application/${form.kind}`, await print(form.kind, document));
  if (form.version === 'v1beta1') return answer;
  const warning = `299 - "${apiVersion} ${kind} is deprecated, ask for config.k8s.io/v1beta1 ${kind}"`;
  return { ...answer, headers: { ...answer.headers, Warning: warning } };
}

const NOT_ACCEPTABLE =
  'served here: text/plain, application/json;as=KIND;v=v1beta1;g=config.k8s.io, application/yaml;as=KIND;v=v1beta1;g=config.k8s.io';

function chooseForm(kind: Kind, accept: string | undefined): Form | undefined {
  for (const { type, parameters } of acceptedRanges(accept)) {
    if (type === '*/*' || type === 'text/*' || type === 'text/plain') return { kind: 'text' };
    const { as, v, g } = parameters;
    if (as !== kind || g !== 'config.k8s.io' || (v !== 'v1beta1' && v !== 'v1alpha1')) continue;
    if (type === 'application/json') return { kind: 'json', version: v };
    if (type === 'application/yaml') return { kind: 'yaml', version: v };
  }
  return undefined;
}

function header(kind: Kind): string {
  const warning =
    'This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';
  return `\nkube-proxy ${kind.toLowerCase()}\nWarning: ${warning}\n`;
}

async function print(form: 'json' | 'yaml', document: unknown): Promise<string> {
  if (form === 'json') return JSON.stringify(document);
  const yaml = await import('yaml'); // loaded when first asked for: the daemon does not need it to print
  return yaml.stringify(document);
}
