import type { Clock } from '../../support/clock.ts';
import type { Slices } from '../../support/event-loop.ts';
import { creationOf } from '../operations/admission.ts';
import { deleteOptionsSchema } from '../operations/delete-options.ts';
import { isLargeRequest } from '../operations/request-size.ts';
import type { Reply, ResourceRequest, Verb } from '../operations/resource-request.ts';
import { namesOneOf } from './accept.ts';
import { layoutFor } from './answer.ts';
import { answered, type Exchange, type ExchangeResult } from './exchange.ts';
import { type ReadableBody, readableBody } from './json-body.ts';
import { anySizeAnswer, type LargeBodies } from './large-bodies.ts';
import { listAnswer } from './list-answer.ts';
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

/** What the answers come from. */
export interface ResourceEndpointParts {
  readonly handle: (request: ResourceRequest) => Reply | Promise<Reply>;
  readonly largeBodies: LargeBodies;
  readonly slices: Slices;
  readonly clock: Clock;
}

/**
 * Answers a request for a resource: reads what it is made in and what its answer is to be, and hands it to `handle`.
 * @throws {ApiError} at once or as a rejection
 */
export function answerResource(
  route: ResourceRoute,
  { incoming, reader, principal, warn }: Exchange,
  { handle, largeBodies, slices, clock }: ResourceEndpointParts,
): ExchangeResult | Promise<ExchangeResult> {
  const { verb, version, definition } = route;
  const isDeletion = verb === 'delete' || verb === 'deletecollection';
  // What a deletion is sent is no object of the resource.
  const isCustom = definition.isCustom && !isDeletion;
  const typeHeader = incoming.header('content-type');
  // What a patch is written in is looked at before anything else.
  if (verb === 'patch') contentTypeOf(typeHeader, verb, isCustom);
  if (!definition.isCustom) checkAccept(verb, reader.accept);
  if (version.deprecation !== undefined) warn(version.deprecation);
  const negotiated = negotiateFor(verb, reader.accept);
  const representation = representationOf(negotiated.transform, reader.query, verb === 'watch', clock);
  const { user } = principal;
  const mayCreate = principal.may(creationOf(route));
  const show = (reply: Reply): ExchangeResult | Promise<ExchangeResult> => {
    if (reply.kind === 'stream') return { kind: 'stream', reply };
    const layout = layoutFor(reader, negotiated);
    if (reply.kind === 'list') return listAnswer(reply, layout, { slices, largeBodies });
    const answer = anySizeAnswer(reply.code, reply.body, layout, largeBodies);
    return answer instanceof Promise ? answer.then(answered) : answered(answer);
  };
  const finish = (body: ReadableBody): ExchangeResult | Promise<ExchangeResult> => {
    const { query, userAgent } = reader;
    const reply = handle({ ...route, ...body, query, user, mayCreate, userAgent, representation, warn });
    return reply instanceof Promise ? reply.then(show) : show(reply);
  };
  if (!hasBody(verb)) return finish(NO_BODY);
  // Nobody has to say what an absent body is written in.
  if (!isDeletion) contentTypeOf(typeHeader, verb, isCustom);
  return incoming.readBody().then((body) => {
    if (body === undefined) return { kind: 'gone' };
    if (isDeletion && body.length === 0) return finish(NO_BODY);
    const given: ReadableBody = { body, contentType: contentTypeOf(typeHeader, verb, isCustom) };
    // A large one is read by whoever carries it out.
    if (isLargeRequest(given)) return finish(given);
    return finish(readableBody(given, isDeletion ? deleteOptionsSchema : version.schema));
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
