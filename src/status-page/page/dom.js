import { clockText, durationText } from './words.js';

/**
 * The content of an element. A string is text, never markup. An array contains nodes and texts. A number is the time of
 * a `<time>` element, in milliseconds since the Unix epoch. `true` shows the element unchanged. `undefined`,
 * `false` and an empty text hide the element.
 * @typedef {string | number | boolean | undefined | readonly (Node | string)[]} Content
 * @typedef {Readonly<Record<string, Content>>} Parts contents of parts of an element, by CSS selector
 * @import { Tone } from '../wire.ts'
 */

/** @type {(root: ParentNode, selector: string) => HTMLElement} */
export function partOf(root, selector) {
  const part = root.querySelector(selector);
  if (!(part instanceof HTMLElement)) throw new Error(`the page has no ${selector}`);
  return part;
}

/** @type {(id: string) => HTMLElement} */
export function find(id) {
  return partOf(document, `#${id}`);
}

/**
 * Returns a copy of a template in index.html, with the given contents and tone.
 * @type {(id: string, parts: Parts, tone?: Tone) => HTMLElement}
 */
export function copy(id, parts, tone) {
  const { content } = /** @type {HTMLTemplateElement} */ (find(id));
  const copied = partOf(document.importNode(content, true), '*');
  if (tone) copied.dataset['tone'] = tone;
  fill(copied, parts);
  return copied;
}

/**
 * Sets the contents of parts of an element. Skips an unchanged text, because after each write the browser computes the
 * layout again, and a screen reader may announce the text again.
 * @type {(element: Element, parts: Parts) => void}
 */
export function fill(element, parts) {
  for (const [selector, content] of Object.entries(parts)) {
    const part = partOf(element, selector);
    part.hidden = !content;
    if (typeof content === 'string') setText(part, content);
    else if (typeof content === 'object') part.replaceChildren(...content);
    else if (typeof content === 'number') part.setAttribute('datetime', new Date(content).toISOString());
  }
}

/** @type {(element: Element, text: string) => void} */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Creates an element that shows how much time has passed since `at`. {@link updateTimes} sets its text.
 * @param {number} at
 */
export function elapsedSince(at) {
  const element = document.createElement('span');
  element.dataset['since'] = String(at);
  return element;
}

/** Updates all times and durations on the page. @param {number} now */
export function updateTimes(now) {
  for (const element of document.querySelectorAll('time[datetime]')) {
    const at = element.getAttribute('datetime') ?? '';
    element.setAttribute('title', at);
    setText(element, clockText(Date.parse(at), now));
  }
  for (const element of document.querySelectorAll('[data-since]')) {
    setText(element, durationText(now - Number(element.getAttribute('data-since'))));
  }
}
