import type { Host } from '../support/host.ts';
import { paintFor } from './paint.ts';
import type { Layout } from './text-table.ts';

/** Sentences are broken for a terminal only: whoever reads them from a pipe searches for them. */
export function layoutFor({ stdout, env }: Host): Layout {
  // A terminal that does not know its width has 0 columns.
  return { columns: (stdout.isTTY && stdout.columns) || undefined, paint: paintFor(stdout, env) };
}
