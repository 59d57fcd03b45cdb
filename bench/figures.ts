import { type Figures, measure, type Scale } from '../test/e2e/figures/figures.ts';
import { toMarkdown } from '../test/e2e/figures/table.ts';
import { writeTable } from '../test/e2e/figures/written-figures.ts';

// All that docs/reference/figures.md tells of coordinators, in about an hour: `CLE_WRITE_FIGURES=1 npm run bench -- figures`. Names of
// lists below choose what is measured, and is then only printed: `npm run bench -- figures massDeaths crowdedLeases`;
// CLE_FIGURES_ONLY=ours leaves the built-in controller out.
const chosen = process.argv.slice(2);
const isToWrite = process.env['CLE_WRITE_FIGURES'] === '1';
const isOursAlone = process.env['CLE_FIGURES_ONLY'] === 'ours';
if (isToWrite && (chosen.length > 0 || isOursAlone))
  throw new Error('its table in docs/reference/figures.md is written with all scenarios, or not at all');

const leases = Number(process.env['CLE_FIGURES_LEASES'] ?? 1000);
const candidates = Number(process.env['CLE_FIGURES_CANDIDATES'] ?? 5);
const silent = Number(process.env['CLE_FIGURES_SILENT'] ?? 3000);

function ifChosen<T>(list: keyof Scale, runs: readonly T[]): readonly T[] {
  return chosen.length === 0 || chosen.includes(list) ? runs : [];
}

const scale: Scale = {
  firstElections: ifChosen('firstElections', [20, 300, 1000]),
  firstStarts: ifChosen('firstStarts', [
    { leases: 20, candidates: 3 },
    { leases: 100, candidates },
  ]),
  handOvers: ifChosen('handOvers', [20, 300]),
  massDeaths: ifChosen('massDeaths', [
    { leases, candidates, renewEveryMs: 4_000 },
    { leases, candidates, renewEveryMs: 10_000 },
  ]),
  crowdedLeases: ifChosen('crowdedLeases', [{ silent, others: 200 }]),
  besideEachOther: false,
};

const startedAt = performance.now();
function begun(what: string): void {
  process.stderr.write(`${Math.round((performance.now() - startedAt) / 1000)} s  ${what}\n`);
}
// Told at once as well: much of an hour may go by until all of it is measured.
const done = (figures: Figures) => void process.stderr.write(`${toMarkdown([figures])}\n`);

const contenders = isOursAlone ? (['this controller'] as const) : (['built-in', 'this controller'] as const);
const measured: Figures[] = [];
for (const name of contenders) {
  measured.push(await measure(name, scale, { begun, done }));
}
const table = toMarkdown(measured);
process.stdout.write(`${table}\n`);
if (isToWrite) await writeTable('coordinators', table);
