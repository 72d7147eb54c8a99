// A configuration file's text in, a typed document out. Unknown fields and repeated keys are told but forgiven: the file
// may be meant for a newer version. Everything else that is wrong ends the start, with the place in the text.
import { isMap, isScalar, parseAllDocuments, type ScalarTag, type Document as YamlDocument } from 'yaml';
import { errorText } from '../observe/log-format.ts';
import { decodeFields } from './decode-fields.ts';
import { API_VERSION, DOCUMENT_FIELDS, type Document, KIND } from './document.ts';

export type DecodeResult =
  | { readonly document: Document; readonly strictProblem: string | undefined }
  | { readonly problem: string };

export function decodeDocument(text: string): DecodeResult {
  const parsed = parseText(text);
  if ('problem' in parsed) return parsed;
  const kindProblem = checkKind(parsed.value);
  if (kindProblem !== undefined) return { problem: kindProblem };

  const { value, unknown, problems } = decodeFields(parsed.value as object, DOCUMENT_FIELDS);
  if (problems.length > 0) return { problem: problems.join(', ') };
  const strict = [...parsed.duplicates, ...unknown.map((path) => `unknown field "${path}"`)];
  return {
    document: value as Document,
    strictProblem: strict.length > 0 ? `strict decoding error: ${strict.join(', ')}` : undefined,
  };
}

/** yes, no, on and off are booleans as well, as in the parser that these files are written for. */
const OLD_BOOLEAN: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:yes|Yes|YES|on|On|ON|no|No|NO|off|Off|OFF)$/,
  resolve: (text) => /^(?:y|on)/i.test(text),
};

type ParsedText = { readonly value: unknown; readonly duplicates: readonly string[] } | { readonly problem: string };

function parseText(text: string): ParsedText {
  const parsed = parseAllDocuments(text, {
    customTags: (tags) => [OLD_BOOLEAN, ...tags],
    merge: true,
    logLevel: 'silent',
    prettyErrors: false,
  });
  // Text after a second `---` is left unread, however broken it is.
  const yaml = Array.isArray(parsed) ? parsed[0] : undefined;
  if (!yaml) return { value: null, duplicates: [] };
  const broken = yaml.errors.find((error) => error.code !== 'DUPLICATE_KEY');
  if (broken)
    return { problem: `yaml: line ${lineOf(text, broken.pos[0])}: ${syntaxProblem(broken.code, broken.message)}` };
  const duplicates = yaml.errors.map(
    (error) => `line ${lineOf(text, error.pos[0])}: key ${keyAt(yaml, error.pos[0])} already set in map`,
  );
  try {
    return { value: yaml.toJS(), duplicates };
  } catch (error) {
    return { problem: `yaml: ${errorText(error)}` }; // an alias that leads nowhere, or too many of them
  }
}

/** The words that operators search for. */
function syntaxProblem(code: string, message: string): string {
  if (code === 'BLOCK_AS_IMPLICIT_KEY') return 'mapping values are not allowed in this context';
  if (code === 'MULTILINE_IMPLICIT_KEY') return "could not find expected ':'";
  if (code === 'TAB_AS_INDENT') return 'found character that cannot start any token (a tab in the indentation)';
  return message.charAt(0).toLowerCase() + message.slice(1);
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

function keyAt(yaml: YamlDocument.Parsed, offset: number): string {
  const find = (node: unknown): string | undefined => {
    if (!isMap(node)) return undefined;
    for (const { key, value } of node.items) {
      if (isScalar(key) && key.range?.[0] === offset) return JSON.stringify(String(key.value));
      const inside = find(value);
      if (inside) return inside;
    }
    return undefined;
  };
  return find(yaml.contents) ?? '';
}

function checkKind(value: unknown): string | undefined {
  if (value !== null && (typeof value !== 'object' || Array.isArray(value))) {
    return `couldn't get version/kind: the document is ${JSON.stringify(value)}, not a mapping of fields`;
  }
  const { apiVersion, kind } = (value ?? {}) as { apiVersion?: unknown; kind?: unknown };
  const shown = `in '${JSON.stringify(value)}'`;
  if (typeof (kind ?? '') !== 'string' || typeof (apiVersion ?? '') !== 'string') {
    return "couldn't get version/kind: apiVersion and kind must be strings";
  }
  if (!kind) return `Object 'Kind' is missing ${shown}`;
  if (!apiVersion) return `Object 'apiVersion' is missing ${shown}`;
  if (kind !== KIND || apiVersion !== API_VERSION) {
    return `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`;
  }
  return undefined;
}
