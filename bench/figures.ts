import { type Figures, measure, type Scale } from '../test/e2e/figures/figures.ts';
import { toMarkdown } from '../test/e2e/figures/table.ts';
import { writeFigures } from '../test/e2e/figures/written-figures.ts';

// Everything that docs/figures.md tells, in half an hour: `CLE_WRITE_FIGURES=1 node bench/figures.ts`.
const scale: Scale = {
  firstElections: [20, 300, 1000],
  handOvers: [20, 300],
  massDeath: {
    leases: Number(process.env['CLE_FIGURES_LEASES'] ?? 1000),
    candidates: Number(process.env['CLE_FIGURES_CANDIDATES'] ?? 3),
  },
};

const startedAt = performance.now();
function progress(what: string): void {
  process.stderr.write(`${Math.round((performance.now() - startedAt) / 1000)} s  ${what}\n`);
}

const measured: Figures[] = [];
for (const name of ['built-in', 'this controller'] as const) {
  measured.push(await measure(name, scale, progress));
}
process.stdout.write(`${toMarkdown(measured)}\n`);
if (process.env['CLE_WRITE_FIGURES'] === '1') await writeFigures(measured);
