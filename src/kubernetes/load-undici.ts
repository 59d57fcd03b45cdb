import { createRequire } from 'node:module';

/** What undici exports. */
export type Undici = typeof import('undici');

/** Loaded only where it is used: it needs 15 MB. */
export function loadUndici(): Undici {
  return createRequire(import.meta.url)('undici') as Undici;
}
