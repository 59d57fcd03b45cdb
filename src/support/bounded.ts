import { shortened } from './printable.ts';

/** Longer texts than this are nobody's name, and no sentence. */
const MOST_CHARACTERS = 1000;

/** A value in which no text is longer than anybody reads; what is neither text, list nor plain object stays what it is. */
export function bounded(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, MOST_CHARACTERS);
  if (Array.isArray(value)) return value.map(bounded);
  return isPlain(value) ? boundedFields(value) : value;
}

/** The same of the fields of an object. */
export function boundedFields(object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([field, value]) => [field, bounded(value)]));
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
