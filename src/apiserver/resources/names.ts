/**
 * What is wrong with a name, in the words of the API server; nothing: an empty list. `isPrefix`: something will be appended
 * to it (generateName).
 */
export type NameRule = (name: string, isPrefix?: boolean) => readonly string[];

const LABEL_PATTERN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN_PATTERN = `${LABEL_PATTERN}(\\.${LABEL_PATTERN})*`;
const KEY_PATTERN = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const VALUE_PATTERN = `(${KEY_PATTERN})?`;
const CONFIG_MAP_KEY_PATTERN = '[-._a-zA-Z0-9]+';

const LABEL = wholly(LABEL_PATTERN);
const SUBDOMAIN = wholly(SUBDOMAIN_PATTERN);
const KEY = wholly(KEY_PATTERN);
const VALUE = wholly(VALUE_PATTERN);
const CONFIG_MAP_KEY = wholly(CONFIG_MAP_KEY_PATTERN);

const LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const KEY_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const CONFIG_MAP_KEY_RULE = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";

const LONGEST_LABEL = 63;
const LONGEST_SUBDOMAIN = 253;

/** Namespaces. */
export const dnsLabelName: NameRule = (name, isPrefix) => {
  const label = isPrefix ? withoutTrailingDash(name) : name;
  const problems = lengthProblems(label, LONGEST_LABEL, 'characters');
  if (LABEL.test(label)) return problems;
  // What is right but for its dots is told so in fewer words.
  const isDotted = SUBDOMAIN.test(label);
  return [
    ...problems,
    isDotted ? 'must not contain dots' : patternProblem(LABEL_RULE, LABEL_PATTERN, ['my-name', '123-abc']),
  ];
};

/** Leases, and Events of events.k8s.io. */
export const dnsSubdomainName: NameRule = (name, isPrefix) =>
  subdomainProblems(isPrefix ? withoutTrailingDash(name) : name, 'characters');

/** LeaseCandidates. */
export const configMapKeyName: NameRule = (name) => {
  const problems = lengthProblems(name, LONGEST_SUBDOMAIN, 'characters');
  if (!CONFIG_MAP_KEY.test(name)) {
    const examples = ['key.name', 'KEY_NAME', 'key-name'];
    problems.push(patternProblem(CONFIG_MAP_KEY_RULE, CONFIG_MAP_KEY_PATTERN, examples));
  }
  if (name === '.' || name === '..') problems.push(`must not be '${name}'`);
  else if (name.startsWith('..')) problems.push("must not start with '..'");
  return problems;
};

/** What every name has to obey, and nothing more: Events of the core group. */
export const pathSegmentName: NameRule = (name, isPrefix) => {
  if (!isPrefix && (name === '.' || name === '..')) return [`may not be '${name}'`];
  return ['/', '%'].filter((each) => name.includes(each)).map((each) => `may not contain '${each}'`);
};

/** What is wrong with the key of a label, which is also a qualified name: `app`, `example.com/app`. */
export function labelKeyProblems(key: string): readonly string[] {
  const parts = key.split('/');
  const examples = ['MyName', 'my.name', '123-abc'];
  if (parts.length > 2) {
    const rule = patternProblem(KEY_RULE, KEY_PATTERN, examples);
    return [
      `a valid label key ${rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts.at(-1) ?? '';
  const [prefix] = parts.length === 2 ? parts : [];
  const problems: string[] = [];
  if (prefix === '') problems.push('prefix part must be non-empty');
  else if (prefix !== undefined) {
    problems.push(...subdomainProblems(prefix, 'bytes').map((problem) => `prefix part ${problem}`));
  }
  if (name === '') problems.push('name part must be non-empty');
  else
    problems.push(...lengthProblems(name, LONGEST_LABEL, 'bytes').map((problem) => `name part ${problem}`));
  if (!KEY.test(name)) problems.push(`name part ${patternProblem(KEY_RULE, KEY_PATTERN, examples)}`);
  return problems;
}

/** What is wrong with the value of a label. */
export function labelValueProblems(value: string): readonly string[] {
  const problems = lengthProblems(value, LONGEST_LABEL, 'bytes');
  if (!VALUE.test(value)) {
    problems.push(patternProblem(VALUE_RULE, VALUE_PATTERN, ['MyValue', 'my_value', '12345']));
  }
  return problems;
}

/** What is wrong with a DNS-1123 subdomain; the real server counts its bytes, and does not always say so. */
export function subdomainProblems(text: string, unit: 'characters' | 'bytes'): readonly string[] {
  const problems = lengthProblems(text, LONGEST_SUBDOMAIN, unit);
  if (!SUBDOMAIN.test(text))
    problems.push(patternProblem(SUBDOMAIN_RULE, SUBDOMAIN_PATTERN, ['example.com']));
  return problems;
}

/** A prefix may end in a dash: the real server puts an `a` for its last two characters before it looks at it. */
function withoutTrailingDash(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;
}

function lengthProblems(text: string, most: number, unit: 'characters' | 'bytes'): string[] {
  return Buffer.byteLength(text) > most ? [`must be no more than ${most} ${unit}`] : [];
}

function patternProblem(rule: string, pattern: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

function wholly(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`);
}
