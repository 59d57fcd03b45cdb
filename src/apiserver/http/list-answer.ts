import type { Slices } from '../../support/slices.ts';
import type { ListReply } from '../operations/resource-request.ts';
import { type Layout, objectAnswer } from './answer.ts';
import { answered, type ExchangeResult } from './exchange.ts';
import { listPieces } from './list-text.ts';

/** The answer that is a list: whole where it is short, or else piece by piece, as fast as the client reads. */
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
