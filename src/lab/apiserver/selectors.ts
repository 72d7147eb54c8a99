// Label and field selectors. In: the text of a query parameter. Out: a predicate over objects.
import { requireKnownFields, storedSelector, zeroOf } from './fields.ts';
import { type Json, type KubeObject, valueAt } from './object.ts';
import type { Resource } from './resources.ts';
import { badRequest } from './status.ts';

export type Predicate = (object: KubeObject) => boolean;
type Labels = { readonly [key: string]: string };
type Requirement = (labels: Labels) => boolean;

export interface SelectorText {
  readonly label: string;
  readonly field: string;
}

/** Undefined: everything matches, so a list may skip the question. */
export function objectPredicate(resource: Resource, text: SelectorText): Predicate | undefined {
  const labels = text.label.trim() ? parseLabelSelector(text.label) : undefined;
  const { field } = storedSelector(resource, text);
  const fields = field.trim() ? parseFieldSelector(resource, field) : undefined;
  if (!labels) return fields;
  if (!fields) return (object) => labels(object.metadata.labels ?? {});
  return (object) => labels(object.metadata.labels ?? {}) && fields(object);
}

/** `app=cart,tier in (a,b),!legacy`: requirements joined by commas, those inside parentheses being lists of values. */
export function parseLabelSelector(text: string): Requirement {
  const requirements = splitOutsideParentheses(text).map((part) => parseRequirement(part.trim(), text));
  return (labels) => requirements.every((requirement) => requirement(labels));
}

function parseRequirement(part: string, whole: string): Requirement {
  const absent = /^!\s*([^\s=!<>(),]+)$/.exec(part);
  if (absent) return (labels) => !(absent[1]! in labels);
  if (/^[^\s=!<>(),]+$/.test(part)) return (labels) => part in labels;
  const set = /^([^\s=!<>(),]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part);
  if (set) {
    const key = set[1]!;
    const values = new Set(set[3]!.split(',').map((value) => value.trim()));
    // A label that is absent has no value, so it is never in a set and always outside it.
    return set[2] === 'in' ? (labels) => values.has(labels[key]!) : (labels) => !values.has(labels[key]!);
  }
  const equal = /^([^\s=!<>(),]+)\s*(==|=|!=)\s*([^\s=!<>(),]*)$/.exec(part);
  if (!equal) throw badRequest(`unable to parse requirement: found '${part}', in the label selector '${whole}'`);
  const [, key, operator, value] = equal as unknown as [string, string, string, string];
  return operator === '!=' ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
}

function splitOutsideParentheses(text: string): string[] {
  const parts: string[] = [''];
  let depth = 0;
  for (const char of text) {
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (char === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts;
}

/** `metadata.name=node1,spec.clusterIP!=None`. A field that is absent has the empty value. */
function parseFieldSelector(resource: Resource, text: string): Predicate {
  const terms = splitUnescaped(text)
    .filter((term) => term.trim() !== '')
    .map((term) => {
      const match = /^\s*([A-Za-z0-9_.-]+)\s*(==|=|!=)(.*)$/s.exec(term);
      if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
      return { path: match[1]!, equal: match[2] !== '!=', value: match[3]!.replace(/\\([\\,=])/g, '$1') };
    });
  requireKnownFields(
    resource,
    terms.map(({ path }) => path),
  );
  return (object) =>
    terms.every(({ path, equal, value }) => (asText(valueAt(object, path) ?? zeroOf(path)) === value) === equal);
}

function splitUnescaped(text: string): string[] {
  return text.match(/(?:\\.|[^,\\])+/gs) ?? [];
}

function asText(value: Json): string {
  return value === null ? '' : String(value);
}

/** The selector of a Deployment or ReplicaSet: all of matchLabels and all of matchExpressions. */
export type LabelSelector = {
  matchLabels?: { [key: string]: string };
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
};

export function matchesLabelSelector(selector: LabelSelector, labels: Labels): boolean {
  const wanted = Object.entries(selector.matchLabels ?? {});
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      if (operator === 'Exists') return key in labels;
      if (operator === 'DoesNotExist') return !(key in labels);
      return values.includes(labels[key]!) === (operator === 'In');
    })
  );
}

/** A Service's selector; one without entries selects nothing. */
export function matchesEqualitySelector(selector: Labels, labels: Labels): boolean {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
}
