import type { ListReply } from '../operations/resource-request.ts';

/**
 * How much of a list is worked out in one go: characters, and objects. What kubectl lists at a time, 500 objects of the usual
 * size, is less.
 */
const MOST_CHARACTERS = 512 * 1024;
const MOST_OBJECTS = 1000;

/** A list in JSON, piece by piece. */
export function* listPieces(list: ListReply, isPretty: boolean): Generator<string, void, void> {
  const { head, field, none } = list.form;
  const [space, end] = isPretty ? [2, '\n'] : [undefined, ''];
  const whole = (value: object) => JSON.stringify(value, undefined, space);
  if (list.objects.length === 0) {
    yield `${whole({ ...head, [field]: none })}${isPretty ? '' : '\n'}`;
    return;
  }
  // What follows the objects is the end of the list, and of the object that it is in.
  let text = `${whole(head).slice(0, -1).trimEnd()},${isPretty ? '\n  ' : ''}"${field}":${isPretty ? ' ' : ''}[`;
  let count = 0;
  for (const [index, stored] of list.objects.entries()) {
    const item = whole(list.show(stored));
    text += `${index === 0 ? '' : ','}${isPretty ? `\n    ${item.replaceAll('\n', '\n    ')}` : item}`;
    count += 1;
    const isLast = index === list.objects.length - 1;
    if (isLast || (text.length < MOST_CHARACTERS && count < MOST_OBJECTS)) continue;
    yield text;
    [text, count] = ['', 0];
  }
  yield `${text}${isPretty ? '\n  ' : ''}]${end}}${isPretty ? '' : '\n'}`;
}
