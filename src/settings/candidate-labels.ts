import type { Parser } from './setting-values.ts';

/** Labels as they were given, or the path of a file that has them. */
export type CandidateLabels =
  | { readonly given: Readonly<Record<string, string>> }
  | { readonly file: string };

// As Kubernetes has them: an optional domain before the key, and a value that may be empty.
const KEY = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** `key=value` pairs separated by commas, or `@` and the path of a file. */
export const candidateLabels: Parser<CandidateLabels> = (given) => {
  if (given.startsWith('@'))
    return given === '@' ? { problem: 'names no file after the @' } : { value: { file: given.slice(1) } };
  const labels: Record<string, string> = {};
  for (const pair of given.split(',').filter((each) => each.trim() !== '')) {
    const label = labelIn(pair);
    if (label === undefined) return { problem: `has ${pair}, which is no label; give key=value` };
    labels[label.key] = label.value;
  }
  return { value: { given: labels } };
};

/**
 * The labels in a file of the downward API: a line `key="value"` each.
 *
 * @throws {Error} that quotes the first line that is none.
 */
export function labelsInFile(text: string): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const label = labelIn(line.replace(/="(.*)"$/, '=$1'));
    if (label === undefined) throw new Error(`no label, which is key="value": ${line}`);
    labels[label.key] = label.value;
  }
  return labels;
}

function labelIn(pair: string): { key: string; value: string } | undefined {
  const sign = pair.indexOf('=');
  const key = pair.slice(0, sign).trim();
  const value = pair.slice(sign + 1).trim();
  return sign > 0 && KEY.test(key) && VALUE.test(value) ? { key, value } : undefined;
}
