import { type Flatness, judgeFlatness } from './flatness.ts';
import type { Sample } from './sample.ts';
import { mebibytes, totalOf } from './sampler.ts';

/** The problems with the memory of the replicas. */
export function judgeMemory(samples: readonly Sample[]): readonly string[] {
  return [...byReplica(samples)].flatMap(([name, own]) => {
    const flatness = flatnessOf(own);
    if (!flatness || flatness.isFlat) return [];
    return [`the memory of ${name} is not flat: ${describe(flatness)}`];
  });
}

/** A run in numbers. */
export function summarize(samples: readonly Sample[], counts: ReadonlyMap<string, number>): string {
  return [
    ...[...counts].map(([kind, count]) => `${String(count).padStart(6)}  ${kind}`),
    ...[...byReplica(samples)].flatMap(([name, own]) => {
      const turns = own.filter(({ isActive }, index) => isActive && !own[index - 1]?.isActive).length;
      const flatness = flatnessOf(own);
      return [
        `${name}: ${own.length} samples, ${own.at(-1)?.elections ?? 0} elections, ${turns} times active`,
        `  in use ${range(own, ({ usedBytes }) => usedBytes, mebibytes)}, RSS ${range(own, ({ rssBytes }) => rssBytes, mebibytes)}`,
        `  ${flatness ? describe(flatness) : 'too short a run to judge its memory'}`,
        `  descriptors ${range(own, ({ descriptors }) => totalOf(descriptors))}, timers ${range(own, ({ resources }) => resources['Timeout'] ?? 0)}`,
      ];
    }),
  ].join('\n');
}

function flatnessOf(own: readonly Sample[]): Flatness | undefined {
  return judgeFlatness(
    own.map(({ atMs, usedBytes, elections, events }) => ({ atMs, bytes: usedBytes, elections, events })),
  );
}

function describe({ growthBytes, boundBytes, elections }: Flatness): string {
  return `${mebibytes(growthBytes)} more in use after ${elections} elections, of ${mebibytes(boundBytes)} allowed`;
}

function range(
  samples: readonly Sample[],
  of: (sample: Sample) => number,
  text: (value: number) => string = String,
): string {
  const values = samples.map(of);
  return `${text(Math.min(...values))} to ${text(Math.max(...values))}`;
}

function byReplica(samples: readonly Sample[]): ReadonlyMap<string, readonly Sample[]> {
  return Map.groupBy(samples, ({ replica }) => replica);
}
