import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { type ContestantName, contestants } from './contestant.ts';
import { type Measure, measures, type Sample } from './measures.ts';
import { byRound, spreadOf } from './summary.ts';

use([LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const PANEL = { width: 320, height: 280, left: 60, top: 80, gap: 75, bottom: 60 };
const COLORS: Readonly<Record<ContestantName, string>> = {
  'built-in': '#b3541e',
  'this controller': '#1e66b3',
  'the limit': '#3c8c40',
};
/** Maximum points of a line; more are not visible. */
const MAX_POINTS = 200;
/** The start of a logarithmic axis. Shorter times are drawn there. */
const LEAST_MS = 1;

const LEGEND = { bottom: 5, itemGap: 30 };
const CANDIDATES = 5;
/** Powers of ten, as the ends of a logarithmic axis. */
const [LEAST_CANDIDATES, MAX_CANDIDATES] = [1_000, 100_000];

/** A drawing, and its description in words. */
export interface Plot {
  readonly title: string;
  readonly svg: string;
}

/** Drawings by the names of their files. */
export type Plots = ReadonlyMap<string, Plot>;

/**
 * The share of elections that were over after so many milliseconds, as points. Elections that never ended are missing
 * at the end.
 */
function cumulative(waits: readonly number[]): readonly (readonly [ms: number, share: number])[] {
  const sorted = waits.filter(Number.isFinite).sort((a, b) => a - b);
  const step = Math.max(1, Math.floor(sorted.length / MAX_POINTS));
  return sorted.flatMap((wait, index) =>
    index % step === 0 || index === sorted.length - 1
      ? [[Math.max(LEAST_MS, wait), (index + 1) / waits.length] as const]
      : [],
  );
}

/** All drawings of a run, without unmeasured parts. */
export function plotsOf(samples: readonly Sample[]): Plots {
  const drawn: (readonly [string, Plot])[] = [];
  for (const measure of ['first', 'release', 'death'] as const) {
    const sizes = sizesOf(samples, measure);
    if (sizes.length > 0) drawn.push([`bench-${measure}.svg`, waitsPlot(samples, measure, sizes)]);
  }
  const sizes = sizesOf(samples, 'rss');
  if (sizes.length > 0) drawn.push(['bench-upkeep.svg', upkeepPlot(samples, sizes)]);
  return new Map(drawn);
}

export async function writePlots(directory: string, plots: Plots): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const [name, { svg }] of plots) await writeFile(join(directory, name), `${svg}\n`);
}

function sizesOf(samples: readonly Sample[], measure: Measure): readonly number[] {
  const sizes = samples.filter((sample) => sample.measure === measure).map(({ leases }) => leases);
  return [...new Set(sizes)].sort((a, b) => a - b);
}

/** The cumulative durations of elections: a panel for each size, a line for each contestant, all rounds together. */
function waitsPlot(samples: readonly Sample[], measure: Measure, sizes: readonly number[]): Plot {
  const series = sizes.flatMap((leases, panel) =>
    contestants.map((contestant) => ({
      type: 'line',
      name: contestant,
      xAxisIndex: panel,
      yAxisIndex: panel,
      step: 'end',
      showSymbol: false,
      color: COLORS[contestant],
      data: cumulative(
        samples
          .filter((sample) => sample.measure === measure && sample.leases === leases)
          .flatMap((sample) => (sample.contestant === contestant ? sample.values : [])),
      ),
    })),
  );
  const title = `Share of elections that are over, ${measures[measure].what}`;
  return draw(title, sizes.length, {
    title: [
      { text: title, left: 'center' },
      ...sizes.map((leases, panel) => panelTitle(`${leases} Leases x ${CANDIDATES}`, panel)),
    ],
    legend: { ...LEGEND, data: [...contestants] },
    xAxis: sizes.map((_, gridIndex) => ({ type: 'log', gridIndex, min: LEAST_MS, name: 'ms', nameGap: 8 })),
    yAxis: sizes.map((_, gridIndex) => ({ type: 'value', gridIndex, min: 0, max: 1 })),
    series,
  });
}

/** The resources of a coordinator after a start with so many candidates. */
function upkeepPlot(samples: readonly Sample[], sizes: readonly number[]): Plot {
  const panels = [
    { text: 'Memory at rest, in MB', lines: { resident: 'rss', 'heap in use': 'heap' }, divisor: 1e6 },
    { text: 'Start to ready, in ms', lines: { ready: 'ready', 'event loop held': 'held' }, divisor: 1 },
  ] as const;
  const series = panels.flatMap(({ lines, divisor }, panel) =>
    (Object.entries(lines) as [string, Measure][]).map(([name, measure]) => ({
      type: 'line',
      name,
      xAxisIndex: panel,
      yAxisIndex: panel,
      data: sizes.map((leases) => {
        const rounds = byRound(samples, 'this controller', { measure, leases, statistic: 'value' });
        return [leases * CANDIDATES, spreadOf([...rounds.values()]).median / divisor];
      }),
    })),
  );
  const title = 'Memory and start of this controller, by the number of candidates';
  return draw(title, panels.length, {
    title: [{ text: title, left: 'center' }, ...panels.map(({ text }, panel) => panelTitle(text, panel))],
    legend: LEGEND,
    xAxis: panels.map((_, gridIndex) => ({
      type: 'log',
      gridIndex,
      min: LEAST_CANDIDATES,
      max: MAX_CANDIDATES,
    })),
    yAxis: panels.map((_, gridIndex) => ({ type: 'value', gridIndex, min: 0 })),
    series,
  });
}

function panelTitle(text: string, panel: number) {
  return {
    text,
    left: leftOf(panel) + PANEL.width / 2,
    top: PANEL.top - 32,
    textAlign: 'center',
    textStyle: { fontSize: 13, fontWeight: 'normal' },
  };
}

function leftOf(panel: number): number {
  return PANEL.left + panel * (PANEL.width + PANEL.gap);
}

/** Draws panels side by side, without a browser. */
function draw(title: string, panels: number, option: EChartsCoreOption): Plot {
  const chart = init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: leftOf(panels),
    height: PANEL.top + PANEL.height + PANEL.bottom,
  });
  const grid = Array.from({ length: panels }, (_, panel) => ({
    left: leftOf(panel),
    top: PANEL.top,
    width: PANEL.width,
    height: PANEL.height - PANEL.bottom / 2,
  }));
  chart.setOption({ animation: false, backgroundColor: '#ffffff', grid, ...option });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return { title, svg };
}
