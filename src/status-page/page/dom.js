import { clockText, durationText } from './words.js';

/**
 * The content of an element: text, which is never markup, or nodes. `true` shows the element unchanged.
 * Without content, the element is hidden.
 * @typedef {string | boolean | undefined | readonly (Node | string)[]} Content
 */

/**
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [type]
 */
export function find(id, type) {
  const element = document.getElementById(id);
  if (!(element instanceof (type ?? HTMLElement))) throw new Error(`the page has no such element #${id}`);
  return /** @type {T} */ (element);
}

/** @type {(element: Element, selector: string) => HTMLElement} */
export function partOf(element, selector) {
  const part = element.querySelector(selector);
  if (!(part instanceof HTMLElement)) throw new Error(`#${element.id} has no part ${selector}`);
  return part;
}

/**
 * Copies a template of index.html, and fills it in.
 *
 * @param {string} id
 * @param {Readonly<Record<string, Content>>} parts by their selectors
 */
export function copy(id, parts) {
  const copied = find(id, HTMLTemplateElement).content.firstElementChild?.cloneNode(true);
  if (!(copied instanceof HTMLElement)) throw new Error(`the template #${id} is empty`);
  fill(copied, parts);
  return copied;
}

/**
 * Sets the content of parts of an element. If a text is unchanged, the browser does not lay it out or announce it again.
 * @param {Element} element
 * @param {Readonly<Record<string, Content>>} parts by their selectors
 */
export function fill(element, parts) {
  for (const [selector, content] of Object.entries(parts)) {
    const part = partOf(element, selector);
    part.hidden = !content;
    if (typeof content === 'string') setText(part, content);
    else if (typeof content === 'object') part.replaceChildren(...content);
  }
}

/** @type {(element: Element, text: string) => void} */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Makes a `<time>` element show a time. @type {(element: Element, at: number) => void} */
export function setTime(element, at) {
  if (element instanceof HTMLTimeElement) element.dateTime = new Date(at).toISOString();
}

/** Makes an element that shows how long ago something was. @param {number} at */
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
