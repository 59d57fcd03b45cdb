const NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const SUBDOMAIN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const MAX_NAME_BYTES = 63;
const MAX_PREFIX_BYTES = 253;

const ALPHANUMERIC = 'must start and end with an alphanumeric character';
const NAME_RULE = `must consist of alphanumeric characters, '-', '_' or '.', and ${ALPHANUMERIC} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${NAME}')`;
const KEY_RULE = `a valid label key ${NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
const PREFIX_RULE = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and ${ALPHANUMERIC} (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`;
const VALUE_RULE = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and ${ALPHANUMERIC} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${NAME})?')`;

const nameExpression = new RegExp(`^${NAME}$`);
const prefixExpression = new RegExp(`^${SUBDOMAIN}$`);

/** What is wrong with the key of a label (`name` or `prefix/name`), in the words of the API server; empty: nothing. */
export function labelKeyProblems(key: string): readonly string[] {
  const parts = key.split('/');
  if (parts.length > 2) return [KEY_RULE];
  const name = parts.at(-1) ?? '';
  return [
    ...(parts.length === 2 ? prefixProblems(parts[0] ?? '') : []),
    ...(name === '' ? ['name part must be non-empty'] : []),
    ...(isLonger(name, MAX_NAME_BYTES) ? [`name part must be no more than ${MAX_NAME_BYTES} bytes`] : []),
    ...(nameExpression.test(name) ? [] : [`name part ${NAME_RULE}`]),
  ];
}

/** What is wrong with the value of a label, in the words of the API server; empty: nothing. */
export function labelValueProblems(value: string): readonly string[] {
  return [
    ...(isLonger(value, MAX_NAME_BYTES) ? [`must be no more than ${MAX_NAME_BYTES} bytes`] : []),
    ...(value === '' || nameExpression.test(value) ? [] : [VALUE_RULE]),
  ];
}

function prefixProblems(prefix: string): readonly string[] {
  if (prefix === '') return ['prefix part must be non-empty'];
  return [
    ...(isLonger(prefix, MAX_PREFIX_BYTES)
      ? [`prefix part must be no more than ${MAX_PREFIX_BYTES} bytes`]
      : []),
    ...(prefixExpression.test(prefix) ? [] : [`prefix part ${PREFIX_RULE}`]),
  ];
}

function isLonger(text: string, bytes: number): boolean {
  return Buffer.byteLength(text) > bytes;
}
