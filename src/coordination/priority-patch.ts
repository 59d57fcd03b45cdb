import { GROUP, type MicroTime } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject } from '../support/json.ts';
import { PRIORITY_ANNOTATION, PRIORITY_UNTIL_ANNOTATION } from './candidate-priority.ts';
import type { RequestBody } from './lease-patch.ts';
import { formatMicroTime } from './micro-time.ts';
import { annotationsOf, textField } from './raw-object.ts';

/** The command that has set a candidate's priority, as JSON: its values, and the values before. */
export const PRIORITY_SET_BY_ANNOTATION = `${GROUP}/priority-set-by`;

export type PriorityCommand = 'drain' | 'transfer';

export interface PriorityChange {
  readonly by: PriorityCommand;
  readonly priority: number;
  readonly until: MicroTime;
}

/** The current values of the two annotations of a priority; null if absent. */
interface Annotations {
  readonly priority: string | null;
  readonly until: string | null;
}

/** The values that a command has written, and the values before. */
interface Mark extends Annotations {
  readonly before: Annotations;
}

const NOTHING: Annotations = { priority: null, until: null };

/** Returns the JSON merge patch that sets a priority, with a mark that lets {@link priorityRemoval} undo it. */
export function priorityPatch(
  object: KubernetesObject,
  { by, priority, until }: PriorityChange,
): RequestBody {
  const present = presentIn(object);
  const mark = markOn(object);
  // If an earlier command set the present values, keep the values before that command.
  const before = mark && isSame(mark, present) ? mark.before : present;
  const written: Annotations = { priority: String(priority), until: formatMicroTime(until) };
  return patchOf(object, written, JSON.stringify({ by, ...written, before }));
}

/** Returns the patch that undoes what a command has set, but not what a user wrote since; undefined without. */
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
  // The uid is set, because a later candidate of that name is another program. The resourceVersion is not, because a
  // renewal must not make the patch fail.
  return { metadata: { uid: object.metadata.uid ?? '', annotations } };
}

function presentIn(object: KubernetesObject): Annotations {
  const annotations = annotationsOf(object);
  return {
    priority: textField(annotations, PRIORITY_ANNOTATION) ?? null,
    until: textField(annotations, PRIORITY_UNTIL_ANNOTATION) ?? null,
  };
}

function isSame(a: Annotations, b: Annotations): boolean {
  return a.priority === b.priority && a.until === b.until;
}

function markOn(object: KubernetesObject): Mark | undefined {
  const text = textField(annotationsOf(object), PRIORITY_SET_BY_ANNOTATION);
  if (text === undefined) return undefined;
  const mark = parseJson(text);
  const { before } = isJsonObject(mark) ? mark : {};
  return { ...readFrom(mark), before: readFrom(before) };
}

function readFrom(value: unknown): Annotations {
  if (!isJsonObject(value)) return NOTHING;
  return { priority: textField(value, 'priority') ?? null, until: textField(value, 'until') ?? null };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
