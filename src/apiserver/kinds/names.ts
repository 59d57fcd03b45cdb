/**
 * What is wrong with a name, in the words of the API server; nothing: an empty list. `isPrefix`: something will be appended
 * to it (generateName).
 */
export type NameRule = (name: string, isPrefix?: boolean) => readonly string[];

/** What a text has to look like, and what is said of one that does not. */
interface Pattern {
  readonly expression: RegExp;
  readonly problem: string;
}

const LONGEST_LABEL = 63;
const LONGEST_SUBDOMAIN = 253;
const LABEL_PATTERN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const KEY_PATTERN = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const label = pattern(
  LABEL_PATTERN,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  ['my-name', '123-abc'],
);
const subdomain = pattern(
  `${LABEL_PATTERN}(\\.${LABEL_PATTERN})*`,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  ['example.com'],
);
const labelKey = pattern(
  KEY_PATTERN,
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  ['MyName', 'my.name', '123-abc'],
);
const labelValue = pattern(
  `(${KEY_PATTERN})?`,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  ['MyValue', 'my_value', '12345'],
);
const configMapKey = pattern(
  '[-._a-zA-Z0-9]+',
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  ['key.name', 'KEY_NAME', 'key-name'],
);

/** Namespaces. */
export const dnsLabelName: NameRule = (name, isPrefix) => {
  const given = isPrefix ? withoutTrailingDash(name) : name;
  const tooLong = lengthProblems(given, LONGEST_LABEL, 'characters');
  // What is right but for its dots is told so in fewer words.
  const isDotted = !label.expression.test(given) && subdomain.expression.test(given);
  return [...tooLong, ...(isDotted ? ['must not contain dots'] : patternProblems(given, label))];
};

/** Leases, and Events of events.k8s.io. */
export const dnsSubdomainName: NameRule = (name, isPrefix) =>
  subdomainProblems(isPrefix ? withoutTrailingDash(name) : name, 'characters');

/** LeaseCandidates. */
export const configMapKeyName: NameRule = (name) => [
  ...lengthProblems(name, LONGEST_SUBDOMAIN, 'characters'),
  ...patternProblems(name, configMapKey),
  ...(name === '.' || name === '..'
    ? [`must not be '${name}'`]
    : name.startsWith('..')
      ? ["must not start with '..'"]
      : []),
];

/** What every name has to obey, and nothing more: Events of the core group. */
export const pathSegmentName: NameRule = (name, isPrefix) => {
  if (!isPrefix && (name === '.' || name === '..')) return [`may not be '${name}'`];
  return ['/', '%'].filter((each) => name.includes(each)).map((each) => `may not contain '${each}'`);
};

/** What is wrong with the key of a label, which is also a qualified name: `app`, `example.com/app`. */
export function labelKeyProblems(key: string): readonly string[] {
  const parts = key.split('/');
  if (parts.length > 2) {
    return [
      `a valid label key ${labelKey.problem} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts.at(-1) ?? '';
  const prefix = parts.length === 2 ? parts[0] : undefined;
  const ofPrefix = prefix === undefined ? [] : prefix === '' ? [EMPTY] : subdomainProblems(prefix, 'bytes');
  const ofName = name === '' ? [EMPTY] : lengthProblems(name, LONGEST_LABEL, 'bytes');
  return [
    ...ofPrefix.map((problem) => `prefix part ${problem}`),
    ...[...ofName, ...patternProblems(name, labelKey)].map((problem) => `name part ${problem}`),
  ];
}

const EMPTY = 'must be non-empty';

/** What is wrong with the value of a label. */
export function labelValueProblems(value: string): readonly string[] {
  return [...lengthProblems(value, LONGEST_LABEL, 'bytes'), ...patternProblems(value, labelValue)];
}

/** What is wrong with a DNS-1123 subdomain; the real server counts its bytes, and does not always say so. */
export function subdomainProblems(text: string, unit: 'characters' | 'bytes'): readonly string[] {
  return [...lengthProblems(text, LONGEST_SUBDOMAIN, unit), ...patternProblems(text, subdomain)];
}

/** A prefix may end in a dash: the real server puts an `a` for its last two characters before it looks at it. */
function withoutTrailingDash(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;
}

function lengthProblems(text: string, most: number, unit: 'characters' | 'bytes'): readonly string[] {
  return Buffer.byteLength(text) > most ? [`must be no more than ${most} ${unit}`] : [];
}

function patternProblems(text: string, { expression, problem }: Pattern): readonly string[] {
  return expression.test(text) ? [] : [problem];
}

function pattern(expression: string, rule: string, examples: readonly string[]): Pattern {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return {
    expression: new RegExp(`^(?:${expression})$`),
    problem: `${rule} (e.g. ${shown}regex used for validation is '${expression}')`,
  };
}
