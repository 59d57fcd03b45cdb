import { GROUP, type MicroTime } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject, parseJsonObject } from '../support/json.ts';
import { PRIORITY_ANNOTATION, PRIORITY_UNTIL_ANNOTATION } from './candidate-priority.ts';
import type { RequestBody } from './lease-patch.ts';
import { formatMicroTime } from './micro-time.ts';
import { annotationsOf, textField } from './raw-object.ts';

/** The annotation with JSON in which `transfer` and `drain` record the values that they set, and the former values. */
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
 * Returns the JSON merge patch that undoes the priority of `drain` or `transfer`; undefined without their annotation.
 * If the priority or its end has changed since then, the patch keeps the values in `object`, and removes the annotation.
 */
export function priorityRemoval(object: KubernetesObject): RequestBody | undefined {
  return markOn(object) && patchOf(object, valuesBefore(object), null);
}

/**
 * Returns the JSON merge patch that undoes only `change`, and so restores a drain that was there `before`; undefined if
 * another client or command has changed the priority, its end or their annotation since then.
 */
export function priorityRestoration(
  object: KubernetesObject,
  before: KubernetesObject,
  { priority, until }: PriorityChange,
): RequestBody | undefined {
  const present = valuesOn(object);
  const isOurs = present.priority === String(priority) && present.until === formatMicroTime(until);
  if (!isOurs || !markOn(object)) return undefined;
  const mark = textField(annotationsOf(before), PRIORITY_SET_BY_ANNOTATION);
  return patchOf(object, valuesOn(before), mark ?? null);
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
  // With the uid, the API server rejects the patch if another candidate has replaced this one under the same name.
  // Without a resourceVersion, the API server accepts the patch even if the candidate has renewed in the meantime.
  return { metadata: { uid: object.metadata.uid ?? '', annotations } };
}

/** Returns the values to restore: the former ones if `drain` or `transfer` wrote the current ones; else the current ones. */
function valuesBefore(object: KubernetesObject): Annotations {
  const mark = markOn(object);
  const present = valuesOn(object);
  const isOfCommand = mark?.priority === present.priority && mark.until === present.until;
  return isOfCommand ? mark.before : present;
}

function valuesOn(object: KubernetesObject): Annotations {
  const { [PRIORITY_ANNOTATION]: priority, [PRIORITY_UNTIL_ANNOTATION]: until } = annotationsOf(object);
  return valuesIn({ priority, until });
}

/**
 * Returns the content of {@link PRIORITY_SET_BY_ANNOTATION}: the values that `drain` or `transfer` has written, and the
 * former values in `before`. A missing or invalid value is null. Returns undefined if the annotation is absent.
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
