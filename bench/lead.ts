// From kill -9 of a program that leads by a connection to the first work of the next one: `npm run bench -- lead`.
import { parseArgs } from 'node:util';
import { CRASH_TIMES } from '../test/e2e/figures/hand-overs/crash-programs.ts';
import { measureLeadCrashes } from '../test/e2e/figures/hand-overs/lead-crashes.ts';
import { distributionOf } from '../test/e2e/figures/statistics.ts';
import { describeMs } from '../test/e2e/figures/table.ts';
import { writeTable } from '../test/e2e/figures/written-figures.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    /** How long both pods rest before each kill, in seconds. After 5, the candidate that waits needs a ping. */
    rest: { type: 'string', default: '1' },
  },
});

const [figures] = await measureLeadCrashes(CRASH_TIMES.slice(0, 1), {
  rounds: Number(values.rounds),
  restSeconds: Number(values.rest),
});
const gaps = (figures?.crashes ?? []).map(({ killedAt, workedAt }) => workedAt - killedAt);
const { count, p50, p99, max } = distributionOf(gaps);
const table = `| kill -9 of the program, to the next one's first work | p50 | p99 | max |
| --- | --- | --- | --- |
| ${count} times | ${describeMs(p50)} | ${describeMs(p99)} | ${describeMs(max)} |`;
process.stdout.write(`${table}\n`);
if (process.env['CLE_WRITE_FIGURES'] === '1') await writeTable('lead', table);
