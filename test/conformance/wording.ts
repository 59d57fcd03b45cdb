// The same error is worded differently by different versions. Everything of that kind that the suite meets is here.

/** How a version shows a list of texts that is not valid. */
export function shownList(minor: number, texts: readonly string[]): string {
  return minor >= 36
    ? JSON.stringify(texts)
    : `[]string{${texts.map((text) => JSON.stringify(text)).join(', ')}}`;
}

/** What it says of a text with more than `bytes`. */
export function atMostBytes(minor: number, bytes: number): string {
  return minor >= 32 ? `may not be more than ${bytes} bytes` : `must have at most ${bytes} bytes`;
}

/** What it says of a label's value with more than 63 characters. */
export function atMostLabelLength(minor: number): string {
  return minor >= 36 ? 'must be no more than 63 bytes' : 'must be no more than 63 characters';
}

/** How it shows the resourceVersion of an update that has none. */
export function shownNoRevision(minor: number): string {
  return minor >= 36 ? '0' : '0x0';
}

/** What an owner reference without a `field` is told. */
export function emptyOwnerField(minor: number, field: string): string {
  return minor >= 36 ? 'must not be empty' : `${field} must not be empty`;
}

/** How it shows a time that is not valid. */
export function shownTime(minor: number, time: string): string {
  return minor >= 36 ? JSON.stringify(time) : `${time.replace('T', ' ').replace('Z', '')} +0000 UTC`;
}

/** What a name with more than one slash is told. */
export function notAQualifiedName(minor: number): string {
  return `${minor >= 36 ? 'a valid label key' : 'a qualified name'} ${nameCharacters} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
}

/** What becomes of a name part with other characters. */
export const nameCharacters =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

export const labelValueCharacters =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

export const subdomainCharacters =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

export const dnsLabelCharacters =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

export const configKeyCharacters =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
