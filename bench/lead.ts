// From kill -9 of a program that leads by a connection to the first work of the next one: `npm run bench -- lead`. Two pods, each a
// sidecar and a program as processes, with the embedded server and a coordinator in this process.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { eventually } from '../test/e2e/coordinator.ts';
import { distributionOf } from '../test/e2e/figures/statistics.ts';
import { describeMs } from '../test/e2e/figures/table.ts';
import { writeTable } from '../test/e2e/figures/written-figures.ts';
import { startLeadSite } from '../test/e2e/lead-site.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    /** How long both pods rest before each kill, in seconds. After 5, the candidate that waits needs a ping. */
    rest: { type: 'string', default: '1' },
  },
});

const site = await startLeadSite();
const stage = site.stage('killed');
const gaps: number[] = [];
try {
  const start = async (name: string) => {
    const sidecar = stage.startSidecar(name);
    return { sidecar, program: await stage.startProgram(sidecar, { name }) };
  };
  let leads = await start('first');
  await leads.program.reported('leads');
  let waits = await start('second');
  while (gaps.length < Number(values.rounds)) {
    await eventually(async () => (await stage.candidates()).length === 2 || undefined, 'both are candidates');
    await sleep(Number(values.rest) * 1000);
    const killedAt = Date.now();
    leads.program.signal('SIGKILL');
    const { at } = await waits.program.reported('leads', killedAt);
    gaps.push(at - killedAt);
    const { sidecar, program } = leads;
    await program.ended;
    const restarted = { sidecar, program: await stage.startProgram(sidecar, { name: program.name }) };
    [leads, waits] = [waits, restarted];
  }
} finally {
  await stage.stop();
  await site.stop();
}

const { count, p50, p99, max } = distributionOf(gaps);
const table = `| kill -9 of the program, to the next one's first work | p50 | p99 | max |
| --- | --- | --- | --- |
| ${count} times | ${describeMs(p50)} | ${describeMs(p99)} | ${describeMs(max)} |`;
process.stdout.write(`${table}\n`);
if (process.env['CLE_WRITE_FIGURES'] === '1') await writeTable('lead', table);
