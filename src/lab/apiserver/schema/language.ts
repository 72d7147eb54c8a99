// A small language for the types of API objects, so that a whole kind fits on a screen. A field is written as its type and,
// after a dash, what it is for:
//
//   port: 'int32! — The port that clients dial.'
//
//   string int32 int64 bool time quantity intOrString any    plain values; `any` is taken as it comes
//   Name                     another type of the tables
//   []T   map T              a list of T; a map from strings to T
//   []T by key               a list whose items are merged by this field in strategic merge patches
//   []T as set               a list of plain values that is merged as a set
//   !                        at the end: required in the OpenAPI documents

export type Plain = 'string' | 'int32' | 'int64' | 'bool' | 'time' | 'quantity' | 'intOrString' | 'any';

export type FieldType =
  | { readonly kind: 'plain'; readonly plain: Plain }
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'map'; readonly of: FieldType }
  /** `mergeKey` is '' for sets of plain values and undefined for lists that a patch replaces. */
  | { readonly kind: 'list'; readonly of: FieldType; readonly mergeKey: string | undefined };

export interface Field {
  readonly type: FieldType;
  readonly isRequired: boolean;
  readonly about: string;
}

export type TypeText = Readonly<Record<string, string>>;
export type ObjectType = ReadonlyMap<string, Field>;

const PLAIN: readonly string[] = ['string', 'int32', 'int64', 'bool', 'time', 'quantity', 'intOrString', 'any'];

export function parseObjectType(text: TypeText): ObjectType {
  return new Map(Object.entries(text).map(([name, field]) => [name, parseField(field)]));
}

function parseField(text: string): Field {
  const [typeText = '', about = ''] = text.split(' — ');
  const isRequired = typeText.endsWith('!');
  return { type: parseType(isRequired ? typeText.slice(0, -1) : typeText), isRequired, about };
}

function parseType(text: string): FieldType {
  if (text.startsWith('[]')) {
    const [item = '', word, key] = text.slice(2).split(' ');
    return { kind: 'list', of: parseType(item), mergeKey: word === 'by' ? key : word === 'as' ? '' : undefined };
  }
  if (text.startsWith('map ')) return { kind: 'map', of: parseType(text.slice(4)) };
  if (PLAIN.includes(text)) return { kind: 'plain', plain: text as Plain };
  return { kind: 'named', name: text };
}
