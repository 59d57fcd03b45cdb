import type { Clock } from '../../support/clock.ts';
import { deleteOptionsSchema } from '../operations/delete-options.ts';
import type { Reply, ResourceRequest, Verb } from '../operations/resource-request.ts';
import { namesOneOf } from './accept.ts';
import { layoutFor, objectAnswer } from './answer.ts';
import { answered, type Exchange, type ExchangeResult } from './exchange.ts';
import { type ReadableBody, readableBody } from './json-body.ts';
import {
  acceptedTypes,
  type Negotiated,
  negotiate,
  noRepresentation,
  notAcceptable,
  resourceForms,
  streamedTypes,
} from './negotiation.ts';
import { contentTypeOf, hasBody } from './read-body.ts';
import { representationOf } from './representation.ts';
import type { ResourceRoute } from './router.ts';

const NO_BODY: ReadableBody = { body: Buffer.alloc(0), contentType: '' };

/**
 * Answers a request for a resource: reads what it is made in and what its answer is to be, and hands it to `handle`.
 * @throws {ApiError} at once or as a rejection
 */
export function answerResource(
  route: ResourceRoute,
  { incoming, reader, principal, warn }: Exchange,
  handle: (request: ResourceRequest) => Reply,
  clock: Clock,
): ExchangeResult | Promise<ExchangeResult> {
  const { verb, version } = route;
  const isDeletion = verb === 'delete' || verb === 'deletecollection';
  const typeHeader = incoming.header('content-type');
  // What a patch is written in is looked at before anything else.
  if (verb === 'patch') contentTypeOf(typeHeader, verb);
  checkAccept(verb, reader.accept);
  if (version.deprecation !== undefined) warn(version.deprecation);
  const negotiated = negotiateFor(verb, reader.accept);
  const representation = representationOf(negotiated.transform, reader.query, verb === 'watch', clock);
  const { user } = principal;
  const finish = (body: ReadableBody): ExchangeResult => {
    const { query, userAgent } = reader;
    const reply = handle({ ...route, ...body, query, user, userAgent, representation, warn });
    if (reply.kind === 'stream') return { kind: 'stream', reply };
    return answered(objectAnswer(reply.code, reply.body, layoutFor(reader, negotiated)));
  };
  if (!hasBody(verb)) return finish(NO_BODY);
  // Nobody has to say what an absent body is written in.
  if (!isDeletion) contentTypeOf(typeHeader, verb);
  return incoming.readBody().then((body) => {
    if (body === undefined) return { kind: 'gone' };
    if (isDeletion && body.length === 0) return finish(NO_BODY);
    const schema = isDeletion ? deleteOptionsSchema : version.schema;
    return finish(readableBody(body, contentTypeOf(typeHeader, verb), schema));
  });
}

/** Whether the endpoint is named at all; what it can do is asked of it later. @throws {ApiError} 406 */
function checkAccept(verb: Verb, accept: string): void {
  const available =
    verb === 'list' || verb === 'watch' ? [...acceptedTypes, ...streamedTypes] : acceptedTypes;
  if (accept !== '' && !namesOneOf(accept, available)) throw noRepresentation(available);
}

/** @throws {ApiError} 406 */
function negotiateFor(verb: Verb, accept: string): Negotiated {
  const negotiated = negotiate(accept, resourceForms);
  if (negotiated === undefined) throw notAcceptable();
  if (verb === 'watch' && negotiated.mediaType !== 'application/json') throw notAcceptable(streamedTypes);
  return negotiated;
}
