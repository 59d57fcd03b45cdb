import { GROUP, NO_PRIORITY, type Priority } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { shortened } from '../support/text.ts';
import { parseMicroTime } from './micro-time.ts';
import { annotationsOf, integerField, specOf, textField } from './raw-object.ts';

/** The annotation with the int32 priority of a native or custom candidate. Overrides `spec.priority` (rule 16). */
export const PRIORITY_ANNOTATION = `${GROUP}/priority`;

/** The annotation with the time, in RFC 3339, at which {@link PRIORITY_ANNOTATION} stops applying. */
export const PRIORITY_UNTIL_ANNOTATION = `${GROUP}/priority-until`;

/** Maximum characters of an invalid annotation in a message. */
const MAX_SHOWN = 100;

/** Decodes the priority of a LeaseCandidate. If one of the two annotations is invalid, ignores both (rule 16). */
export function decodePriority(object: KubernetesObject): Priority {
  const lasting = integerField(specOf(object), 'priority') ?? 0;
  const annotations = annotationsOf(object);
  const text = textField(annotations, PRIORITY_ANNOTATION);
  const until = text === undefined ? undefined : textField(annotations, PRIORITY_UNTIL_ANNOTATION);
  const value = text === undefined ? lasting : parseInt32(text);
  if (value === undefined) return unreadable(lasting, PRIORITY_ANNOTATION, text);
  if (until === undefined)
    return value === 0 ? NO_PRIORITY : { value, end: undefined, unreadable: undefined };
  const at = parseMicroTime(until);
  if (at === undefined) return unreadable(lasting, PRIORITY_UNTIL_ANNOTATION, until);
  return { value, end: { at, afterwards: lasting }, unreadable: undefined };
}

function unreadable(value: number, name: string, text: string | undefined): Priority {
  return { value, end: undefined, unreadable: `${name}: ${shortened(JSON.stringify(text), MAX_SHOWN)}` };
}

/** Parses an int32 of at most ten decimal digits, with an optional sign. Returns undefined for any other text. */
export function parseInt32(text: string): number | undefined {
  if (!/^[+-]?\d{1,10}$/.test(text)) return undefined;
  const value = Number(text);
  return value === (value | 0) ? value | 0 : undefined;
}
