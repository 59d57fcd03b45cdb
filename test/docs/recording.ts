// Records a real `npm start -- --once` as docs/images/demo.svg, which the README shows: `npm run docs -- recording`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

interface Line {
  /** Since the start of the program. */
  readonly atMs: number;
  readonly text: string;
}

const FILE = new URL('../../docs/images/demo.svg', import.meta.url);

const COLUMNS = 116;
const ROWS = 24;
/** In pixels. */
const SIZE = { character: 7.22, row: 17, margin: 14 };
/** How long the end is shown before the recording starts again. */
const REST_MS = 6000;

async function record(): Promise<readonly Line[]> {
  const main = new URL('../../src/main.ts', import.meta.url).pathname;
  const program = spawn(process.execPath, [main, '--once'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {},
  });
  const startedAt = performance.now();
  const lines = [{ atMs: 0, text: '$ npm start -- --once' }];
  createInterface(program.stdout).on('line', (text) => {
    lines.push({ atMs: performance.now() - startedAt, text: withoutPort(text) });
  });
  const [code] = await once(program, 'close');
  if (code !== 0) throw new Error(`the demo ended with ${code}`);
  return lines;
}

/** The port differs from run to run, and would change the file without need. */
function withoutPort(text: string): string {
  return text.replace(/(?<=127\.0\.0\.1:)\d+/, '6443');
}

/** All lines are one group. It moves up by a row with each line, so that the newest one is the last in the window. */
function toSvg(lines: readonly Line[]): string {
  const endMs = Math.round((lines.at(-1)?.atMs ?? 0) + REST_MS);
  const shows = (count: number) => `transform:translateY(${(ROWS - count) * SIZE.row}px)`;
  const frames = lines.map(({ atMs }, index) => `${((100 * atMs) / endMs).toFixed(2)}%{${shows(index + 1)}}`);
  const texts = lines.map(({ text }, index) => {
    const y = Math.round((index + 0.8) * SIZE.row);
    return `<text class="${styleOf(text)}" y="${y}">${escaped(cut(text))}</text>`;
  });
  const width = Math.ceil(COLUMNS * SIZE.character + 2 * SIZE.margin);
  const height = ROWS * SIZE.row;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + 2 * SIZE.margin}">
<style>
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9;white-space:pre}
.step{fill:#fff;font-weight:bold}.leads{fill:#7ee787}.aside{fill:#8b949e}
#lines{${shows(lines.length)};animation:scroll ${endMs}ms step-end infinite}
@keyframes scroll{${frames.join('')}}
@media (prefers-reduced-motion:reduce){#lines{animation:none}}
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<svg x="${SIZE.margin}" y="${SIZE.margin}" height="${height}"><g id="lines">
${texts.join('\n')}
</g></svg>
</svg>
`;
}

function styleOf(text: string): string {
  if (/^(\$|step|All)/.test(text)) return 'step';
  if (/Z sample-\d leads$/.test(text)) return 'leads';
  return /^ {2}(expected|observed)/.test(text) ? 'aside' : '';
}

/** The steps and their expectations in the recording: the same in each run. */
export function recordedSteps(): readonly string[] {
  const texts = readFileSync(FILE, 'utf8').matchAll(/<text [^>]*>(.*)<\/text>/g);
  return stepsOf(Array.from(texts, ([, text = '']) => text));
}

/** The steps of a run's output, as a recording would show them. */
export function stepsOf(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => /^(step| {2}expected)/.test(line)).map(cut);
}

function cut(text: string): string {
  return text.length <= COLUMNS ? text : `${text.slice(0, COLUMNS - 1)}…`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

if (import.meta.main) writeFileSync(FILE, toSvg(await record()));
