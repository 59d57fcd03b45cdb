import { GROUP, type MicroTime } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject, parseJsonObject } from '../support/json.ts';
import { PRIORITY_ANNOTATION, PRIORITY_UNTIL_ANNOTATION } from './candidate-priority.ts';
import type { RequestBody } from './lease-patch.ts';
import { formatMicroTime } from './micro-time.ts';
import { annotationsOf, textField } from './raw-object.ts';

/** The annotation that `transfer` and `drain` write, as JSON: the priority that they set, and the priority before. */
export const PRIORITY_SET_BY_ANNOTATION = `${GROUP}/priority-set-by`;

export interface PriorityChange {
  readonly by: 'drain' | 'transfer';
  readonly priority: number;
  readonly until: MicroTime;
}

/** The values of the two priority annotations; null if absent. */
interface Annotations {
  readonly priority: string | null;
  readonly until: string | null;
}

/** Returns the JSON merge patch that sets a priority and stores the former values for {@link priorityRemoval}. */
export function priorityPatch(
  object: KubernetesObject,
  { by, priority, until }: PriorityChange,
): RequestBody {
  const written: Annotations = { priority: String(priority), until: formatMicroTime(until) };
  return patchOf(object, written, JSON.stringify({ by, ...written, before: valuesBefore(object) }));
}

/** Returns the patch that undoes a command's priority, if there is one. Keeps values that a user has written since. */
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
  // The patch has the uid, because a later candidate with the same name is another program. It has no
  // resourceVersion, because a renewal must not make it fail.
  return { metadata: { uid: object.metadata.uid ?? '', annotations } };
}

/** Returns the present values. If a command has written them, returns the values that it replaced. */
function valuesBefore(object: KubernetesObject): Annotations {
  const { [PRIORITY_ANNOTATION]: priority, [PRIORITY_UNTIL_ANNOTATION]: until } = annotationsOf(object);
  const present = valuesIn({ priority, until });
  const mark = markOn(object);
  const isOfCommand = mark?.priority === present.priority && mark.until === present.until;
  return isOfCommand ? mark.before : present;
}

/** Returns the values that a command has written, and those that it replaced. All null if invalid. */
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
