// The forms names, labels and ports may have. In: a text. Out: what is wrong with it, or nothing.

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const LABEL_1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL_VALUE = `(${QUALIFIED})?`;

export type NameForm = (text: string) => string[];

export const dnsLabel: NameForm = form(
  LABEL,
  63,
  (regex) =>
    `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${regex}')`,
);

export const dnsLabel1035: NameForm = form(
  LABEL_1035,
  63,
  (regex) =>
    `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '${regex}')`,
);

export const dnsSubdomain: NameForm = form(
  SUBDOMAIN,
  253,
  (regex) =>
    `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${regex}')`,
);

export const labelValue: NameForm = form(
  LABEL_VALUE,
  63,
  (regex) =>
    `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${regex}')`,
);

const qualifiedPart: NameForm = form(
  QUALIFIED,
  63,
  (regex) =>
    `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${regex}')`,
);

/** `example.com/name`, or `name` */
export const labelKey: NameForm = (text) => {
  const parts = text.split('/');
  if (parts.length > 2) {
    return [
      `a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const [prefix, name] = parts.length === 2 ? parts : [undefined, text];
  const wrongPrefix =
    prefix === undefined ? [] : prefix === '' ? ['prefix part must be non-empty'] : dnsSubdomain(prefix);
  if (!name) return [...wrongPrefix, 'name part must be non-empty'];
  return [...wrongPrefix.map((why) => (prefix ? `prefix part ${why}` : why)), ...qualifiedPart(name)];
};

/** Names of ports, as IANA's registry has them. */
export const portName: NameForm = (text) => {
  const wrong: string[] = [];
  if (text.length > 15) wrong.push('must be no more than 15 characters');
  if (!/^[-a-z0-9]+$/.test(text)) wrong.push('must contain only alphanumeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(text)) wrong.push('must contain at least one letter (a-z)');
  if (text.includes('--')) wrong.push('must not contain consecutive hyphens');
  if (text.startsWith('-') || text.endsWith('-')) wrong.push('must not begin or end with a hyphen');
  return wrong;
};

function form(regex: string, most: number, message: (regex: string) => string): NameForm {
  const pattern = new RegExp(`^${regex}$`);
  return (text) => [
    ...(text.length > most ? [`must be no more than ${most} characters`] : []),
    ...(pattern.test(text) ? [] : [message(regex)]),
  ];
}
