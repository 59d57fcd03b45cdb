import { bounded, printable, printableJson } from '../support/text.ts';

/** Above, it is looked at whether some text is longer than anybody reads. In characters. */
const LARGE = 4 * 1024;

/**
 * What the page gets, in JSON. The page takes text for text; here it is seen to that none of it is endless, and that none of
 * it hides or turns around what stands beside it: of that, the page shows the numbers.
 */
export function pageJson(value: object): string {
  const json = JSON.stringify(value);
  const isHarmless = json.length <= LARGE && printableJson(json) === json;
  return isHarmless ? json : JSON.stringify(bounded(value), (_, each) => shown(each));
}

function shown(value: unknown): unknown {
  return typeof value === 'string' ? printable(value) : value;
}
