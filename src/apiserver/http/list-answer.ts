import { stringify as yaml } from 'yaml';
import type { Slices } from '../../support/event-loop.ts';
import type { ListReply } from '../operations/resource-request.ts';
import { type Layout, yamlForm } from './answer.ts';
import { answered, type ExchangeResult } from './exchange.ts';
import { anySizeAnswer, type LargeBodies } from './large-bodies.ts';
import { listPieces } from './list-text.ts';

/** How much is written as YAML at a time, in characters of JSON. */
const YAML_CHARACTERS = 64 * 1024;

/** What writes long lists without holding up others. */
export interface ListWriters {
  readonly slices: Slices;
  readonly largeBodies: LargeBodies;
}

/** The answer that is a list: whole where it is short, or else piece by piece, as fast as the client reads. */
export function listAnswer(
  list: ListReply,
  layout: Layout,
  { slices, largeBodies }: ListWriters,
): ExchangeResult | Promise<ExchangeResult> {
  const { mediaType, isPretty } = layout;
  const isYaml = mediaType === 'application/yaml';
  const pieces = listPieces(list, isPretty && !isYaml);
  const { value: first = '' } = pieces.next();
  const { value: second } = pieces.next();
  if (second !== undefined) {
    const chunks = isYaml ? yamlChunks(list, largeBodies) : jsonChunks([first, second], pieces, slices);
    return { kind: 'chunks', contentType: mediaType, chunks };
  }
  if (!isYaml) return answered({ code: 200, contentType: mediaType, body: first });
  const answer = anySizeAnswer(200, JSON.parse(first) as object, layout, largeBodies);
  return answer instanceof Promise ? answer.then(answered) : answered(answer);
}

async function* jsonChunks(
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

/** The fields of the list in their order, of which one is written object by object. */
async function* yamlChunks(
  { form, objects, show }: ListReply,
  largeBodies: LargeBodies,
): AsyncGenerator<string, void, void> {
  const { head, field } = form;
  const fields = Object.entries(head);
  const part = (isBefore: boolean) => {
    const chosen = fields.filter(([name]) => name < field === isBefore);
    // No fields would be written as an empty object.
    return chosen.length === 0 ? '' : yaml(Object.fromEntries(chosen), yamlForm);
  };
  yield `${part(true)}${field}:\n`;
  let batch: string[] = [];
  let characters = 0;
  for (const [index, stored] of objects.entries()) {
    const json = JSON.stringify(show(stored));
    batch.push(json);
    characters += json.length;
    if (characters < YAML_CHARACTERS && index < objects.length - 1) continue;
    yield await largeBodies.yaml(`[${batch.join(',')}]`);
    [batch, characters] = [[], 0];
  }
  yield part(false);
}
