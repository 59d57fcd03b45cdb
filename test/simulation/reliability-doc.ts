import { readFile, writeFile } from 'node:fs/promises';
import { FAULTS } from './faults/faults.ts';

const page = new URL('../../docs/contributing/attacks.md', import.meta.url);
const BEGIN = '<!-- The table of faults is generated from the code, by `npm run docs`. -->\n';
const END = '<!-- End of the table of faults. -->\n';

/** Returns the page with the table that matches the code. */
export async function reliabilityPage(): Promise<{ readonly written: string; readonly wanted: string }> {
  const written = await readFile(page, 'utf8');
  const [before = '', rest = ''] = written.split(BEGIN);
  const after = rest.split(END)[1] ?? '';
  return { written, wanted: `${before}${BEGIN}\n${faultTable()}\n${END}${after}` };
}

function faultTable(): string {
  const byReason = Map.groupBy(
    Object.entries(FAULTS),
    ([, { settlesWithin }]) => `| ${settlesWithin.ms / 1000} s | ${settlesWithin.why} |`,
  );
  const rows = [...byReason].map(
    ([reason, faults]) => `| ${faults.map(([kind]) => `\`${kind}\``).join(', ')} ${reason}\n`,
  );
  return `| faults | in order within | why |\n|---|---|---|\n${rows.join('')}`;
}

if (import.meta.main) await writeFile(page, (await reliabilityPage()).wanted);
