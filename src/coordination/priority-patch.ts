import { GROUP, type MicroTime } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject, parseJsonObject } from '../support/json.ts';
import { PRIORITY_ANNOTATION, PRIORITY_UNTIL_ANNOTATION } from './candidate-priority.ts';
import type { RequestBody } from './lease-patch.ts';
import { formatMicroTime } from './micro-time.ts';
import { annotationsOf, textField } from './raw-object.ts';

/** The annotation that `transfer` and `drain` write, as JSON: the priority that they set, and the priority before. */
export const PRIORITY_SET_BY_ANNOTATION = `${GROUP}/priority-set-by`;

export type PriorityCommand = 'drain' | 'transfer';

export interface PriorityChange {
  readonly by: PriorityCommand;
  readonly priority: number;
  readonly until: MicroTime;
}

/** The values of the two priority annotations; null if absent. */
interface Annotations {
  readonly priority: string | null;
  readonly until: string | null;
}

/** The values that a command has written, and the values that it replaced. */
interface Mark extends Annotations {
  readonly before: Annotations;
}

/**
 * Returns the JSON merge patch that sets a priority. The patch also stores the former values, so that {@link
 * priorityRemoval} can restore them.
 */
export function priorityPatch(
  object: KubernetesObject,
  { by, priority, until }: PriorityChange,
): RequestBody {
  const present = presentIn(object);
  const mark = markOn(object);
  // If an earlier command set the present values, keep the values that it replaced.
  const before = mark && isSame(mark, present) ? mark.before : present;
  const written: Annotations = { priority: String(priority), until: formatMicroTime(until) };
  return patchOf(object, written, JSON.stringify({ by, ...written, before }));
}

/**
 * Returns the patch that undoes a command's priority. Keeps values that a user has written since. Undefined if there is
 * nothing to undo.
 */
export function priorityRemoval(object: KubernetesObject): RequestBody | undefined {
  const mark = markOn(object);
  if (!mark) return undefined;
  const present = presentIn(object);
  return patchOf(object, isSame(mark, present) ? mark.before : present, null);
}

function patchOf(
  object: KubernetesObject,
  { priority, until }: Annotations,
  mark: string | null,
): RequestBody {
  const annotations = {
    [PRIORITY_ANNOTATION]: priority,
    [PRIORITY_UNTIL_ANNOTATION]: until,
    [PRIORITY_SET_BY_ANNOTATION]: mark,
  };
  // The patch has the uid, because a later candidate with the same name is another program. It has no
  // resourceVersion, because a renewal must not make it fail.
  return { metadata: { uid: object.metadata.uid ?? '', annotations } };
}

function presentIn(object: KubernetesObject): Annotations {
  const { [PRIORITY_ANNOTATION]: priority, [PRIORITY_UNTIL_ANNOTATION]: until } = annotationsOf(object);
  return valuesIn({ priority, until });
}

function isSame(a: Annotations, b: Annotations): boolean {
  return a.priority === b.priority && a.until === b.until;
}

/** Returns the mark of a command; undefined if there is none. An invalid mark counts as one without values. */
function markOn(object: KubernetesObject): Mark | undefined {
  const text = textField(annotationsOf(object), PRIORITY_SET_BY_ANNOTATION);
  if (text === undefined) return undefined;
  const mark = parseJsonObject(text);
  return { ...valuesIn(mark), before: valuesIn(mark?.['before']) };
}

function valuesIn(value: unknown): Annotations {
  const fields = isJsonObject(value) ? value : {};
  return { priority: textField(fields, 'priority') ?? null, until: textField(fields, 'until') ?? null };
}
