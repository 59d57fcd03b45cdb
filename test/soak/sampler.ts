import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Replica } from './replica.ts';
import { type Sample, takeSample } from './sample.ts';

const SAMPLE_EVERY_MS = 5_000;

/** Samples the resources of the replicas periodically, and stores the samples in the record of the run. */
export class Sampler {
  readonly #replicas: readonly Replica[];
  readonly #file: string;
  readonly #begun = performance.now();
  readonly #samples: Sample[] = [];

  constructor(replicas: readonly Replica[], directory: string) {
    this.#replicas = replicas;
    this.#file = join(directory, 'samples.jsonl');
  }

  /** The samples during the churn. */
  get samples(): readonly Sample[] {
    return this.#samples;
  }

  /** Takes a sample that is only stored in the record. */
  async look(replica: Replica): Promise<Sample> {
    const sample = await takeSample(replica, performance.now() - this.#begun);
    appendFileSync(this.#file, `${JSON.stringify(sample)}\n`);
    return sample;
  }

  /** Samples all replicas until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(SAMPLE_EVERY_MS, undefined, { signal }).catch(() => {});
      await Promise.all(this.#replicas.map((replica) => this.#sample(replica)));
    }
  }

  /** Returns a line about the last samples. */
  progress(led: number): string {
    const each = this.#replicas.map(({ name }) => {
      const last = this.#samples.findLast(({ replica }) => replica === name);
      if (!last) return `${name}: not seen yet`;
      const { usedBytes, rssBytes, isActive, descriptors, resources, elections } = last;
      const open = `${totalOf(descriptors)} descriptors, ${resources['Timeout'] ?? 0} timers`;
      return `${name}${isActive ? ' (active)' : ''}: in use ${mebibytes(usedBytes)}, RSS ${mebibytes(rssBytes)}, ${open}, ${elections} elections`;
    });
    const minutes = ((performance.now() - this.#begun) / 60_000).toFixed(1);
    return `${minutes} min: ${led} Leases led; ${each.join('; ')}`;
  }

  async #sample(replica: Replica): Promise<void> {
    // A suspended replica, or one without CPU time, is sampled the next time.
    const sample = await this.look(replica).catch(() => undefined);
    if (sample) this.#samples.push(sample);
  }
}

export function totalOf(counts: Sample['descriptors']): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
