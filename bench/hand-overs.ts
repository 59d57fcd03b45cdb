// How soon a Lease, and the work that it guards, has its next one: `npm run bench -- hand-overs any-cluster` on clusters
// with and without the feature gate, in five minutes; `npm run bench -- hand-overs participants` of programs of both kinds,
// in ten; `npm run bench -- hand-overs operators` of operators in Go, in two. CLE_WRITE_FIGURES=1 has the table written into docs/reference/figures.md.
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { handOverTable, spreadOf } from '../test/e2e/figures/hand-overs/hand-over-table.ts';
import { MOST, overloads } from '../test/e2e/figures/hand-overs/load.ts';
import { measureHandOvers } from '../test/e2e/figures/hand-overs/run.ts';
import { handOverTables } from '../test/e2e/figures/hand-overs/tables.ts';
import { writeTable } from '../test/e2e/figures/written-figures.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    leases: { type: 'string' },
    /** In seconds. */
    rest: { type: 'string' },
    /** A file for all that was measured. */
    json: { type: 'string' },
  },
});
const [name = ''] = positionals;
if (name !== 'any-cluster' && name !== 'participants' && name !== 'operators')
  throw new Error(`name what to measure, any-cluster, participants or operators, not "${name}"`);
const { scale, rows, reference } = handOverTables[name];

const startedAt = performance.now();
const say = (text: string) =>
  void process.stderr.write(`${Math.round((performance.now() - startedAt) / 1000)} s  ${text}\n`);
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
if (values.json !== undefined)
  await writeFile(values.json, `${JSON.stringify({ command: name, ...figures }, undefined, 2)}\n`);
say(JSON.stringify(figures.loads));

const tooMuch = overloads(figures.loads, MOST);
if (tooMuch.length > 0)
  throw new Error(`the machine was too busy for figures to be trusted:\n${tooMuch.join('\n')}`);
const table = handOverTable(figures, rows, reference);
process.stdout.write(`${table}\n`);
if (process.env['CLE_WRITE_FIGURES'] === '1') await writeTable(name, table);
