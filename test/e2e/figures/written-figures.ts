import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';

const file = new URL('../../../docs/reference/figures.md', import.meta.url);

/** The tables of docs/reference/figures.md, each of which one command writes. */
export type TableName =
  | 'coordinators'
  | 'any-cluster'
  | 'participants'
  | 'operators'
  | 'crashes'
  | 'lead'
  | 'sidecar'
  | 'memory'
  | 'targets';

/** Puts a table into docs/reference/figures.md, in the place of the one that is there. */
export async function writeTable(name: TableName, table: string): Promise<void> {
  const machine = `Measured with ${cpus().length} CPUs for everything together: servers, coordinators and programs.`;
  await writeFile(file, withTable(await readFile(file, 'utf8'), name, `${machine}\n\n${table}`));
}

/**
 * The document with `text` between the two comments that name the table.
 * @throws Error when it does not have them.
 */
export function withTable(document: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from === -1 || to === -1)
    throw new Error(`docs/reference/figures.md has no place for ${name}: ${begin}${end}`);
  return `${document.slice(0, from + begin.length)}\n${text}\n\n${document.slice(to)}`;
}
