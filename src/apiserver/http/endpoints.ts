import type { Clock } from '../../support/clock.ts';
import type { Slices } from '../../support/event-loop.ts';
import type { JsonObject } from '../../support/json.ts';
import { type Review, reviews } from '../access/reviews.ts';
import { badRequest, methodNotAllowed } from '../errors/api-error.ts';
import { decodedAs, parseBody } from '../operations/body.ts';
import { deleteOptionsSchema } from '../operations/delete.ts';
import type { ListReply, Reply, ResourceRequest, Verb } from '../operations/request.ts';
import { creationOf } from '../operations/store.ts';
import {
  answered,
  type Exchange,
  type ExchangeResult,
  type Layout,
  layoutFor,
  objectAnswer,
} from './answer.ts';
import {
  acceptedTypes,
  type Negotiated,
  namesOneOf,
  negotiate,
  noForms,
  noRepresentation,
  notAcceptable,
  resourceForms,
  streamedTypes,
} from './negotiation.ts';
import { representationOf } from './representation.ts';
import { contentTypeOf, hasBody, type ReadableBody, readableBody } from './request-body.ts';
import { nothingThere, type ResourcePath, type ResourceRoute } from './routes.ts';

const NO_BODY: ReadableBody = { body: Buffer.alloc(0), contentType: '' };

interface ResourceEndpointParts {
  readonly handle: (request: ResourceRequest) => Reply | Promise<Reply>;
  readonly slices: Slices;
  readonly clock: Clock;
}

/**
 * Answers a request for a resource: negotiates the formats, reads the body, and calls `handle`.
 * @throws {ApiError} at once or as a rejection
 */
export function answerResource(
  route: ResourceRoute,
  { incoming, reader, principal, warn }: Exchange,
  { handle, slices, clock }: ResourceEndpointParts,
): ExchangeResult | Promise<ExchangeResult> {
  const { verb, version, definition } = route;
  const isDeletion = verb === 'delete' || verb === 'deletecollection';
  // The body of a deletion is not an object of the resource.
  const isCustom = definition.isCustom && !isDeletion;
  const typeHeader = incoming.header('content-type');
  // The patch type is checked first.
  if (verb === 'patch') contentTypeOf(typeHeader, verb, isCustom);
  if (!definition.isCustom) checkAccept(verb, reader.accept);
  if (version.deprecation !== undefined) warn(version.deprecation);
  const negotiated = negotiateFor(verb, reader.accept);
  const representation = representationOf(negotiated.transform, reader.query, clock);
  const { user } = principal;
  const mayCreate = principal.may(creationOf(route));
  const show = (reply: Reply): ExchangeResult => {
    if (reply.kind === 'stream') return { kind: 'stream', reply };
    const layout = layoutFor(reader, negotiated);
    if (reply.kind === 'list') return listAnswer(reply, layout, slices);
    return answered(objectAnswer(reply.code, reply.body, layout));
  };
  const finish = (body: ReadableBody): ExchangeResult | Promise<ExchangeResult> => {
    const { query, userAgent } = reader;
    const reply = handle({ ...route, ...body, query, user, mayCreate, userAgent, representation, warn });
    return reply instanceof Promise ? reply.then(show) : show(reply);
  };
  if (!hasBody(verb)) return finish(NO_BODY);
  // A deletion needs a Content-Type only if it has a body.
  if (!isDeletion) contentTypeOf(typeHeader, verb, isCustom);
  return incoming.readBody().then((body) => {
    if (body === undefined) return { kind: 'gone' };
    if (isDeletion && body.length === 0) return finish(NO_BODY);
    const given: ReadableBody = { body, contentType: contentTypeOf(typeHeader, verb, isCustom) };
    return finish(readableBody(given, isDeletion ? deleteOptionsSchema : version.schema));
  });
}

/** @throws {ApiError} 406 if the client accepts none of the media types. Parameters are ignored. */
function checkAccept(verb: Verb, accept: string): void {
  const available =
    verb === 'list' || verb === 'watch' ? [...acceptedTypes, ...streamedTypes] : acceptedTypes;
  if (accept !== '' && !namesOneOf(accept, available)) throw noRepresentation(available);
}

/** @throws {ApiError} 406 if the client accepts no served format. */
function negotiateFor(verb: Verb, accept: string): Negotiated {
  const negotiated = negotiate(accept, resourceForms);
  if (negotiated === undefined) throw notAcceptable();
  if (verb === 'watch' && negotiated.mediaType !== 'application/json') throw notAcceptable(streamedTypes);
  return negotiated;
}

export const reviewGroups: ReadonlySet<string> = new Set(reviews.map(({ group }) => group));

export function findReview({ group, version, parts }: ResourcePath): Review | undefined {
  return reviews.find(
    (each) => each.group === group && each.version === version && each.resource === parts[0],
  );
}

/** Answers a review. @throws {ApiError} at once or as a rejection */
export async function answerReview(
  review: Review,
  { incoming, reader, principal }: Exchange,
  { parts, namespace }: ResourcePath,
): Promise<ExchangeResult> {
  if (parts.length > 1 || namespace !== undefined) throw nothingThere();
  if (incoming.method !== 'POST') throw methodNotAllowed();
  const negotiated = negotiate(reader.accept, noForms);
  if (negotiated === undefined) throw notAcceptable();
  const contentType = contentTypeOf(incoming.header('content-type'), 'create');
  const body = await incoming.readBody();
  if (body === undefined) return { kind: 'gone' };
  const question = readQuestion(review, readableBody({ body, contentType }, review.schema));
  const answer = {
    kind: review.kind,
    apiVersion: `${review.group}/${review.version}`,
    ...review.answer(principal, question),
  };
  return answered(objectAnswer(201, answer, layoutFor(reader, negotiated)));
}

/** @throws {ApiError} 400 */
function readQuestion(
  { kind, group, version, schema }: Review,
  { body, contentType }: ReadableBody,
): JsonObject {
  const { object } = parseBody(body, contentType);
  const apiVersion = `${group}/${version}`;
  if ((object['kind'] ?? kind) !== kind || (object['apiVersion'] ?? apiVersion) !== apiVersion) {
    throw badRequest(`expected a ${kind} of ${apiVersion}`);
  }
  return decodedAs(schema, object, badRequest).value;
}

/** Sends a short list at once. Sends a long list in chunks, at the speed of the client. */
export function listAnswer(list: ListReply, layout: Layout, slices: Slices): ExchangeResult {
  const { mediaType, isPretty } = layout;
  const isYaml = mediaType === 'application/yaml';
  const pieces = listPieces(list, isPretty && !isYaml);
  const { value: first = '' } = pieces.next();
  const { value: second } = pieces.next();
  if (second !== undefined) {
    return { kind: 'chunks', contentType: mediaType, chunks: chunks([first, second], pieces, slices) };
  }
  if (!isYaml) return answered({ code: 200, contentType: mediaType, body: first });
  return answered(objectAnswer(200, JSON.parse(first) as object, layout));
}

async function* chunks(
  ready: readonly string[],
  others: Iterable<string>,
  slices: Slices,
): AsyncGenerator<string, void, void> {
  yield* ready;
  await slices.turn();
  for (const piece of others) {
    yield piece;
    await slices.turn();
  }
}

/** Size of one chunk. A usual page of kubectl (500 objects) fits into it. */
const MAX_CHUNK_CHARACTERS = 512 * 1024;
const MAX_CHUNK_OBJECTS = 1000;

/** Yields a list as chunks of JSON. */
export function* listPieces(list: ListReply, isPretty: boolean): Generator<string, void, void> {
  const { head, field } = list.form;
  const [space, end] = isPretty ? [2, '\n'] : [undefined, ''];
  const whole = (value: object) => JSON.stringify(value, undefined, space);
  if (list.objects.length === 0) {
    yield `${whole({ ...head, [field]: [] })}${isPretty ? '' : '\n'}`;
    return;
  }
  // Cut off the closing brace: the objects follow as the last field.
  let text = `${whole(head).slice(0, -1).trimEnd()},${isPretty ? '\n  ' : ''}"${field}":${isPretty ? ' ' : ''}[`;
  let count = 0;
  for (const [index, stored] of list.objects.entries()) {
    const item = whole(list.show(stored));
    text += `${index === 0 ? '' : ','}${isPretty ? `\n    ${item.replaceAll('\n', '\n    ')}` : item}`;
    count += 1;
    const isLast = index === list.objects.length - 1;
    if (isLast || (text.length < MAX_CHUNK_CHARACTERS && count < MAX_CHUNK_OBJECTS)) continue;
    yield text;
    [text, count] = ['', 0];
  }
  yield `${text}${isPretty ? '\n  ' : ''}]${end}}${isPretty ? '' : '\n'}`;
}
