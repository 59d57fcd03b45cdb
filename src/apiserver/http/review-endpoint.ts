import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { type Review, reviews } from '../access/reviews.ts';
import { badRequest } from '../errors/api-error.ts';
import { parseBody } from '../operations/parse-body.ts';
import { DecodeError, decodeObject } from '../schema/decode.ts';
import { layoutFor, objectAnswer } from './answer.ts';
import { answered, type Exchange, type ExchangeResult } from './exchange.ts';
import { type ReadableBody, readableBody } from './json-body.ts';
import { negotiate, notAcceptable, plainOnly } from './negotiation.ts';
import { contentTypeOf } from './read-body.ts';
import type { ResourcePath } from './request-target.ts';
import { methodNotAllowed, nothingThere } from './router.ts';

export const reviewGroups: ReadonlySet<string> = new Set(reviews.map(({ group }) => group));

/** The review that is put under this path. */
export function findReview({ group, version, parts }: ResourcePath): Review | undefined {
  return reviews.find(
    (each) => each.group === group && each.version === version && each.resource === parts[0],
  );
}

/** Answers a review. @throws {ApiError} at once or as a rejection */
export async function answerReview(
  review: Review,
  { incoming, reader, principal }: Exchange,
  { parts, namespace, isWatch }: ResourcePath,
): Promise<ExchangeResult> {
  if (parts.length > 1 || namespace !== undefined || isWatch) throw nothingThere();
  if (incoming.method !== 'POST') throw methodNotAllowed();
  const negotiated = negotiate(reader.accept, plainOnly);
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

/** Reads what a review asks. @throws {ApiError} 400 */
function readQuestion({ kind, group, version, schema }: Review, readable: ReadableBody): JsonObject {
  const given = parse(readable, kind);
  const { kind: ownKind = kind, apiVersion = `${group}/${version}` } = given;
  const refused = (problem: string) =>
    badRequest(`${ownKind} in version "${version}" cannot be handled as a ${kind}: ${problem}`);
  if (ownKind !== kind || apiVersion !== `${group}/${version}`) {
    throw refused(
      `no kind ${JSON.stringify(ownKind)} is registered for version ${JSON.stringify(apiVersion)}`,
    );
  }
  try {
    return decodeObject(schema, given).value;
  } catch (error) {
    throw error instanceof DecodeError ? refused(error.message) : error;
  }
}

function parse({ body, contentType }: ReadableBody, kind: string): JsonObject {
  const parsed = parseBody(body, contentType);
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  throw badRequest(`the object provided is unrecognized (must be of type ${kind})`);
}
