import { isJsonObject, type JsonObject } from '../support/json.ts';
import type { BodyChunks } from './body-chunks.ts';
import { describeCall } from './call-failure.ts';
import type { WholeAnswer } from './channel.ts';
import { type ApiError, apiErrorFromResponse, ConnectionError } from './errors.ts';
import { ListSplitter } from './list-splitter.ts';

/** The call that is answered, for errors. */
type Call = Parameters<typeof describeCall>[0];

/** Takes items of a list; more are read once the promise that it returns has resolved. */
export type TakeItems = (items: readonly unknown[]) => void | Promise<void>;

/** Whoever repeats the call keeps to what it says of when: see ApiError.retryAfterMs. */
export function refusal({ method, path }: Call, { statusCode, headers, text }: WholeAnswer): ApiError {
  return apiErrorFromResponse({ method, path }, statusCode, headers['retry-after'], text);
}

/** The answer's JSON object. Throws a {@link ConnectionError} (`MALFORMED_ANSWER`) where there is none. */
export function parseAnswer(call: Call, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw new ConnectionError(`${describeCall(call)}: the answer is not JSON`, {
      code: 'MALFORMED_ANSWER',
      cause: error,
    });
  }
  throw new ConnectionError(`${describeCall(call)}: the answer is not a JSON object`, {
    code: 'MALFORMED_ANSWER',
  });
}

/** Hands over the items of a list as they arrive; resolves to the list without them. Rejects as the chunks and {@link parseAnswer} do. */
export async function readList(call: Call, chunks: BodyChunks, take: TakeItems): Promise<JsonObject> {
  const splitter = new ListSplitter();
  for await (const chunk of chunks) {
    const items = splitter.push(chunk);
    if (items !== '') await take(parseAnswer(call, `{"items":[${items}]}`)['items'] as readonly unknown[]);
  }
  return parseAnswer(call, splitter.rest);
}
