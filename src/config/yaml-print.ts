// Plain data in, YAML text out: keys sorted, lists not indented, text quoted only where it must be. These are the choices
// of the printer that the same documents are written with elsewhere, so files can be compared byte for byte.

export type YamlValue = string | number | boolean | null | readonly YamlValue[] | YamlMap;

export interface YamlMap {
  readonly [key: string]: YamlValue;
}

export function printYaml(map: YamlMap): string {
  return mapLines(map)
    .map((line) => `${line}\n`)
    .join('');
}

function mapLines(map: YamlMap): string[] {
  return Object.keys(map)
    .sort()
    .flatMap((key) => entryLines(scalar(key), map[key]!));
}

function entryLines(key: string, value: YamlValue): string[] {
  if (Array.isArray(value)) {
    return value.length === 0 ? [`${key}: []`] : [`${key}:`, ...value.flatMap((item: YamlValue) => itemLines(item))];
  }
  if (isYamlMap(value)) {
    const lines = mapLines(value);
    return lines.length === 0 ? [`${key}: {}`] : [`${key}:`, ...lines.map((line) => `  ${line}`)];
  }
  return [`${key}: ${scalar(value as string | number | boolean | null)}`];
}

function itemLines(item: YamlValue): string[] {
  if (!isYamlMap(item)) return [`- ${scalar(item as string | number | boolean | null)}`];
  return mapLines(item).map((line, i) => `${i === 0 ? '- ' : '  '}${line}`);
}

function isYamlMap(value: YamlValue): value is YamlMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function scalar(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value);
  if (value === '' || readsAsOther(value) || /[^\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]/.test(value))
    return JSON.stringify(value);
  return isPlain(value) ? value : `'${value.replaceAll("'", "''")}'`;
}

/** True if the bare text would be read as something else than text. */
function readsAsOther(text: string): boolean {
  return (
    /^(y|yes|n|no|on|off|true|false|null|~|<<|=|[-+]?\.inf|\.nan)$/i.test(text) ||
    /^[-+]?(0x[\da-f_]+|0b[01_]+|0o?[0-7_]+|\d[\d_]*|\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?)$/i.test(text) ||
    /^[-+]?(\.[\d_]*|\d[\d_]*(\.[\d_]*)?)(e[-+]?\d+)?$/i.test(text) ||
    /^\d{4}-\d\d?-\d\d?($|[Tt ])/.test(text)
  );
}

/** True if no character of the text would be taken for punctuation. */
function isPlain(text: string): boolean {
  const startsWell = !/^(?:[#,[\]{}&*!|>'"%@`]|[-?:](?: |$)| |---|\.\.\.)/.test(text);
  return startsWell && !/:( |$)| #| $/.test(text);
}
