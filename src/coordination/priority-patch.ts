import { GROUP, type MicroTime } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject, parseJsonObject } from '../support/json.ts';
import { PRIORITY_ANNOTATION, PRIORITY_UNTIL_ANNOTATION } from './candidate-priority.ts';
import type { RequestBody } from './lease-patch.ts';
import { formatMicroTime } from './micro-time.ts';
import { annotationsOf, textField } from './raw-object.ts';

/** The annotation that `transfer` and `drain` write: JSON with the values that they set, and the former values. */
export const PRIORITY_SET_BY_ANNOTATION = `${GROUP}/priority-set-by`;

export interface PriorityChange {
  readonly by: 'drain' | 'transfer';
  readonly priority: number;
  readonly until: MicroTime;
}

/** The values of the two priority annotations; null for an absent annotation. */
interface Annotations {
  readonly priority: string | null;
  readonly until: string | null;
}

/** Returns the JSON merge patch that sets a priority, and stores the former values for {@link priorityRemoval}. */
export function priorityPatch(
  object: KubernetesObject,
  { by, priority, until }: PriorityChange,
): RequestBody {
  const written: Annotations = { priority: String(priority), until: formatMicroTime(until) };
  return patchOf(object, written, JSON.stringify({ by, ...written, before: valuesBefore(object) }));
}

/**
 * Returns the JSON merge patch that undoes the priority of `drain` or `transfer`; undefined if neither of them has set
 * one. The patch keeps values that a user has written since.
 */
export function priorityRemoval(object: KubernetesObject): RequestBody | undefined {
  return markOn(object) && patchOf(object, valuesBefore(object), null);
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
  // The patch names the uid, because a later candidate with the same name is another program. It names no
  // resourceVersion, because a renewal of the candidate must not make the patch fail.
  return { metadata: { uid: object.metadata.uid ?? '', annotations } };
}

/** Returns the current values. If `drain` or `transfer` has written them, returns the values before that command. */
function valuesBefore(object: KubernetesObject): Annotations {
  const { [PRIORITY_ANNOTATION]: priority, [PRIORITY_UNTIL_ANNOTATION]: until } = annotationsOf(object);
  const present = valuesIn({ priority, until });
  const mark = markOn(object);
  const isOfCommand = mark?.priority === present.priority && mark.until === present.until;
  return isOfCommand ? mark.before : present;
}

/**
 * Returns the content of {@link PRIORITY_SET_BY_ANNOTATION}: the values that `drain` or `transfer` has written, and the
 * former values in `before`. Returns undefined without this annotation. If it is invalid, all values are null.
 */
function markOn(object: KubernetesObject) {
  const text = textField(annotationsOf(object), PRIORITY_SET_BY_ANNOTATION);
  if (text === undefined) return undefined;
  const mark = parseJsonObject(text);
  return { ...valuesIn(mark), before: valuesIn(mark?.['before']) };
}

function valuesIn(value: unknown): Annotations {
  const fields = isJsonObject(value) ? value : {};
  return { priority: textField(fields, 'priority') ?? null, until: textField(fields, 'until') ?? null };
}
