import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { binary } from '../control-plane/binaries.ts';

/** The events of client-go's informers. */
export interface InformerLine {
  readonly event: 'added' | 'modified' | 'deleted' | 'synced';
  readonly resource?: 'leases' | 'leasecandidates' | 'events';
  readonly namespace?: string;
  readonly name?: string;
  readonly resourceVersion?: string;
}

/** A Go program that watches with client-go's shared informers. */
export interface Informer {
  readonly lines: readonly InformerLine[];
  /** The first line with all these fields, past or future. */
  waitFor(pattern: Partial<InformerLine>, timeoutMs?: number): Promise<InformerLine>;
  stop(): Promise<void>;
}

export async function startInformer(kubeconfig: string): Promise<Informer> {
  const child = spawn(await binary('informer'), ['--kubeconfig', kubeconfig], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const lines: InformerLine[] = [];
  const listeners = new Set<(line: InformerLine) => void>();
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-4_000);
  });
  createInterface(child.stdout).on('line', (text) => {
    const line = JSON.parse(text) as InformerLine;
    lines.push(line);
    for (const listener of listeners) listener(line);
  });
  return {
    lines,
    waitFor(pattern, timeoutMs = 30_000) {
      const matches = (line: InformerLine) =>
        Object.entries(pattern).every(([field, value]) => line[field as keyof InformerLine] === value);
      const past = lines.find(matches);
      if (past) return Promise.resolve(past);
      const { promise, resolve, reject } = Promise.withResolvers<InformerLine>();
      const listener = (line: InformerLine) => matches(line) && resolve(line);
      listeners.add(listener);
      const timer = setTimeout(() => {
        const wanted = JSON.stringify(pattern);
        reject(new Error(`the informers did not see ${wanted} within ${timeoutMs} ms; ${complaints}`));
      }, timeoutMs);
      return promise.finally(() => {
        clearTimeout(timer);
        listeners.delete(listener);
      });
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
