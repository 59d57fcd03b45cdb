import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../support/seeded-random.ts';
import type { DeployedExample, ExamplesSite } from './examples-site.ts';

/** One fault of a leader. The caller continues while a suspended leader is still suspended. */
type Fault = (example: DeployedExample, random: () => number) => void;

const pick = <T>(values: readonly T[], random: () => number): T | undefined =>
  values[Math.floor(random() * values.length)];

const faults: readonly Fault[] = [
  (example, random) => void example.kill(pick(example.program.containers, random)),
  (example, random) => {
    const thaw = example.freeze();
    void sleep(500 + random() * 20_000, undefined, { ref: false }).then(thaw);
  },
  (example, random) => {
    const container = pick(example.program.containers, random);
    const thaw = example.freeze(container === undefined ? [] : [container]);
    void sleep(500 + random() * 20_000, undefined, { ref: false }).then(thaw);
  },
  (example) => void example.deletePod(),
];

/** Time between two faults, in milliseconds: half to one and a half times this. */
const PAUSE_MS = 1500;

/** Injects faults into random leaders of all examples for this long, and resumes suspended ones at the end. */
export async function strike({ examples }: ExamplesSite, forMs: number, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const until = performance.now() + forMs;
  while (performance.now() < until) {
    const example = pick(examples, random);
    if (example) pick(faults, random)?.(example, random);
    await sleep(PAUSE_MS * (0.5 + random()));
  }
  for (const example of examples) example.thaw();
}
