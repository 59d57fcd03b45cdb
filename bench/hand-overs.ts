// How soon a Lease, and the work that it guards, has its next one: `npm run bench -- hand-overs any-cluster` on clusters
// with and without the feature gate, in five minutes; `npm run bench -- hand-overs participants` of programs of both kinds,
// in ten; `npm run bench -- hand-overs operators` of operators in Go, in two; `npm run bench -- hand-overs crashes` with and
// without evidence, in a quarter of an hour. CLE_WRITE_FIGURES=1 has the table written into docs/reference/figures.md.
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { CRASH_TIMES } from '../test/e2e/figures/hand-overs/crash-programs.ts';
import { crashTable } from '../test/e2e/figures/hand-overs/crash-table.ts';
import { measureCrashes } from '../test/e2e/figures/hand-overs/crashes.ts';
import { handOverTable, spreadOf } from '../test/e2e/figures/hand-overs/hand-over-table.ts';
import { measureLeadCrashes } from '../test/e2e/figures/hand-overs/lead-crashes.ts';
import { type Load, MAX_LOAD, overloads } from '../test/e2e/figures/hand-overs/load.ts';
import { measureHandOvers } from '../test/e2e/figures/hand-overs/run.ts';
import { type HandOverTable, handOverTables } from '../test/e2e/figures/hand-overs/tables.ts';
import { writeTable } from '../test/e2e/figures/written-figures.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    leases: { type: 'string' },
    /** In seconds. */
    rest: { type: 'string' },
    /** How often a program beside a sidecar is killed, for each duration of the Lease. */
    rounds: { type: 'string', default: '50' },
    /** A file for all that was measured. */
    json: { type: 'string' },
  },
});
const [name = ''] = positionals;
const names = [...Object.keys(handOverTables), 'crashes'];
if (!names.includes(name)) throw new Error(`name what to measure, ${names.join(', ')}, not "${name}"`);
const command = name as keyof typeof handOverTables | 'crashes';

const startedAt = performance.now();
const say = (text: string) =>
  void process.stderr.write(`${Math.round((performance.now() - startedAt) / 1000)} s  ${text}\n`);

/** What was measured, as a table in Markdown, and all of it. */
interface Measured {
  readonly table: () => string;
  readonly figures: object;
  readonly loads: Readonly<Record<string, Load>>;
}

async function measureTable({ scale, rows, reference }: HandOverTable): Promise<Measured> {
  const figures = await measureHandOvers(
    {
      ...scale,
      leases: Number(values.leases ?? scale.leases),
      restSeconds: Number(values.rest ?? scale.restSeconds),
    },
    {
      begun: say,
      // Told at once as well: minutes go by until all of it is measured.
      done: (phase, contestant, handOvers) => {
        const ofPhase = rows.filter((row) => row.phase === phase);
        const spreads = ofPhase.map(({ what, of }) => ({ what, ...spreadOf(handOvers, of) }));
        say(`${phase}, ${contestant.title}: ${JSON.stringify(spreads)}`);
      },
    },
  );
  return { table: () => handOverTable(figures, rows, reference), figures, loads: figures.loads };
}

async function measureAllCrashes(): Promise<Measured> {
  say('programs beside sidecars');
  const rounds = Number(values.rounds);
  const beside = await measureLeadCrashes(CRASH_TIMES, { rounds, restSeconds: Number(values.rest ?? 1) });
  const { figures: others, loads } = await measureCrashes({ leases: Number(values.leases ?? 8) }, say);
  const figures = [...beside, ...others];
  return { table: () => crashTable(figures), figures: { figures, loads }, loads };
}

const { table, figures, loads } =
  command === 'crashes' ? await measureAllCrashes() : await measureTable(handOverTables[command]);
if (values.json !== undefined)
  await writeFile(values.json, `${JSON.stringify({ command, ...figures }, undefined, 2)}\n`);
say(JSON.stringify(loads));

const tooMuch = overloads(loads, MAX_LOAD);
if (tooMuch.length > 0)
  throw new Error(`the machine was too busy for figures to be trusted:\n${tooMuch.join('\n')}`);
process.stdout.write(`${table()}\n`);
if (process.env['CLE_WRITE_FIGURES'] === '1') await writeTable(command, table());
