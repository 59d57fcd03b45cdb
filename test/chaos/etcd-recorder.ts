import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Moment } from '../invariants/history.ts';
import { monotonicNow } from './monotonic.ts';

export const writesName = 'writes.jsonl';

/** A Lease or a LeaseCandidate, as the API server stores it. */
export interface StoredObject {
  readonly metadata: {
    readonly uid: string;
    readonly name: string;
    readonly namespace: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** A change in etcd. */
export interface StoredWrite {
  /** When the recorder received it; etcd executed it before. */
  readonly seenAt: Moment;
  readonly resource: 'leases' | 'leasecandidates';
  /** `<namespace>/<name>` */
  readonly key: string;
  /** The resourceVersion of the created or changed object. */
  readonly revision: number;
  /** Absent for a deletion. */
  readonly object?: StoredObject;
}

interface WatchAnswer {
  readonly result?: {
    readonly canceled?: boolean;
    readonly compact_revision?: string;
    readonly events?: readonly {
      readonly type?: 'DELETE';
      readonly kv: { readonly key: string; readonly value?: string; readonly mod_revision: string };
    }[];
  };
}

/** All Leases and LeaseCandidates, and no other keys: etcd's keys are ordered, and `f` follows `e`. */
const RANGE = { key: base64('/registry/lease'), range_end: base64('/registry/leasf') };

/**
 * Records every change of Leases and LeaseCandidates by a watch of etcd. Only etcd knows all of them, including those
 * of an API server that was killed before it could report, and their order.
 */
export class EtcdRecorder {
  readonly #url: string;
  readonly #path: string;
  readonly #stopping = new AbortController();
  readonly #objects = new Map<string, StoredObject>();
  readonly #onProblem: (problem: string) => void;
  #revision = 0;
  readonly #running: Promise<void>;

  constructor(url: string, directory: string, onProblem: (problem: string) => void) {
    this.#url = url;
    this.#path = join(directory, writesName);
    this.#onProblem = onProblem;
    this.#running = this.#run();
  }

  /** The last revision that it has received. */
  get revision(): number {
    return this.#revision;
  }

  /** As stored now. */
  lease(key: string): StoredObject | undefined {
    return this.#objects.get(`leases ${key}`);
  }

  candidate(key: string): StoredObject | undefined {
    return this.#objects.get(`leasecandidates ${key}`);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      // etcd is down, or about to go down: faults cause this.
      await this.#watch().catch(() => {});
      await sleep(100);
    }
  }

  async #watch(): Promise<void> {
    const { body } = await fetch(`${this.#url}/v3/watch`, {
      method: 'POST',
      body: JSON.stringify({ create_request: { ...RANGE, start_revision: this.#revision + 1 } }),
      signal: this.#stopping.signal,
    });
    if (body === null) return;
    let rest = '';
    for await (const text of body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#hear(JSON.parse(line) as WatchAnswer);
    }
  }

  #hear({ result }: WatchAnswer): void {
    const compacted = Number(result?.compact_revision ?? 0);
    if (compacted > this.#revision + 1 && this.#revision > 0) {
      this.#onProblem(`writes between revisions ${this.#revision} and ${compacted} were not recorded`);
    }
    if (compacted > 0) this.#revision = compacted - 1;
    for (const { type, kv } of result?.events ?? []) {
      const [, , resource, namespace, name] = Buffer.from(kv.key, 'base64').toString().split('/');
      if (resource !== 'leases' && resource !== 'leasecandidates') continue;
      this.#revision = Number(kv.mod_revision);
      const write: StoredWrite = {
        seenAt: monotonicNow(),
        resource,
        key: `${namespace}/${name}`,
        revision: this.#revision,
        ...(type === 'DELETE' || kv.value === undefined ? {} : { object: decode(kv.value) }),
      };
      if (write.object) this.#objects.set(`${resource} ${write.key}`, write.object);
      else this.#objects.delete(`${resource} ${write.key}`);
      appendFileSync(this.#path, `${JSON.stringify(write)}\n`);
    }
  }
}

/** Drops managedFields: the largest part of an object, and unused here. */
function decode(value: string): StoredObject {
  const { metadata, spec } = JSON.parse(Buffer.from(value, 'base64').toString()) as StoredObject;
  const { uid, name, namespace } = metadata;
  return { metadata: { uid, name, namespace }, spec };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
