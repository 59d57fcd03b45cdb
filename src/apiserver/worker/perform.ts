import { stringify as yaml } from 'yaml';
import { atOnce } from '../../support/event-loop.ts';
import { shortened } from '../../support/text.ts';
import { reviews } from '../access/reviews.ts';
import { ApiError } from '../errors/api-error.ts';
import { yamlForm } from '../http/answer.ts';
import { readableBody } from '../http/json-body.ts';
import { readQuestion } from '../http/review-endpoint.ts';
import type { ResourceDefinition } from '../kinds/definition.ts';
import { deleteOptionsSchema, deletionText } from '../operations/delete-options.ts';
import { answer } from '../operations/operations.ts';
import type { Representation, ResourceRequest } from '../operations/resource-request.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { Journal } from '../storage/journal.ts';
import { ObjectStore } from '../storage/object-store.ts';
import { objectText } from './object-text.ts';
import { checkStoredSize } from './stored-size.ts';
import type { Outcome, RequestFacts, StoreChange, Task, WriteTask } from './tasks.ts';

type Resources = readonly ResourceDefinition[];

/** Does one task. Whatever happens is its outcome. */
export function perform(task: Task, resources: Resources): Outcome {
  const warnings: string[] = [];
  try {
    return outcomeOf(task, resources, warnings);
  } catch (error) {
    if (error instanceof ApiError) return { kind: 'refused', status: bounded(error.status), warnings };
    return { kind: 'failed', error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** Of a refusal, nobody reads more than this: characters, and causes. */
const MOST_WORDS = 64 * 1024;
const MOST_CAUSES = 100;

/** A large object may have something wrong in each of its fields, all of which would be told twice. */
function bounded(status: ApiError['status']): ApiError['status'] {
  const { message = '', details } = status;
  const causes = details?.causes?.slice(0, MOST_CAUSES).map((cause) => ({
    ...cause,
    ...(cause.message !== undefined && { message: shortened(cause.message, MOST_WORDS) }),
  }));
  return {
    ...status,
    message: shortened(message, MOST_WORDS),
    ...(details && { details: { ...details, ...(causes && { causes }) } }),
  };
}

function outcomeOf(task: Task, resources: Resources, warnings: string[]): Outcome {
  switch (task.kind) {
    case 'write':
      return written(task, resources, warnings);
    case 'deletion':
      return { kind: 'text', text: deletionText(requestFrom(task.request, resources, warnings)) };
    case 'review': {
      const review = reviews.find(
        ({ group, resource }) => group === task.group && resource === task.resource,
      );
      if (review === undefined) throw new Error(`there is no review ${task.resource}`);
      const readable = readableBody(
        { body: Buffer.from(task.body), contentType: task.contentType },
        review.schema,
      );
      return { kind: 'question', question: readQuestion(review, readable) };
    }
    case 'yaml':
      return { kind: 'text', text: yaml(JSON.parse(task.json), yamlForm) };
  }
}

/** Carries out a write on a store that has no more than what it may look at, and tells what it did there. */
function written(task: WriteTask, resources: Resources, warnings: string[]): Outcome {
  const changes: StoreChange[] = [];
  let put: ApiObject | undefined;
  const journal: Journal = {
    load: () => ({ revision: task.revision, objects: task.objects }),
    write(_, { key, object }) {
      changes.push({ kind: 'put', key });
      put = object;
    },
    remove(_, key) {
      changes.push({ kind: 'remove', key });
    },
    close: () => {},
  };
  const chances = task.chances.values();
  const clock = {
    now: () => 0,
    wallTime: () => task.wallTime,
    setTimer: () => () => {},
    random: () => chances.next().value ?? 0,
  };
  const context = { store: new ObjectStore({ journal }), clock, resources };
  const reply = atOnce(answer(context, requestFrom(task.request, resources, warnings)));
  if (reply.kind !== 'object') throw new Error('a write is answered with an object');
  const { code, body } = reply;
  const [change = { kind: 'none' }] = changes;
  if (put !== undefined) checkStoredSize(put);
  return { kind: 'write', code, change, object: objectText(put ?? (body as ApiObject)), warnings };
}

function notAList(): never {
  throw new Error('a write is answered with an object');
}

/** Objects as they are; how the client wants to see them, others see to. */
const asItIs: Representation = { id: 'object', show: (object) => object, listForm: notAList };

function requestFrom(facts: RequestFacts, resources: Resources, warnings: string[]): ResourceRequest {
  const definition = resources.find(
    ({ group, resource }) => group === facts.group && resource === facts.resource,
  );
  const version = definition?.versions.find((each) => each.version === facts.version);
  if (definition === undefined || version === undefined) throw new Error(`there are no ${facts.resource}`);
  const isDeletion = facts.verb === 'delete' || facts.verb === 'deletecollection';
  return {
    ...facts,
    ...readableBody(
      { body: Buffer.from(facts.body), contentType: facts.contentType },
      isDeletion ? deleteOptionsSchema : version.schema,
    ),
    definition,
    version,
    query: new URLSearchParams(facts.query),
    representation: asItIs,
    warn: (text) => {
      warnings.push(text);
    },
  };
}
