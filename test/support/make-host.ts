import { Writable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Clock } from '../../src/support/clock.ts';
import type { Host } from '../../src/support/host.ts';
import { systemClock } from '../../src/support/system-clock.ts';

/** A fake process for a command, with its output and a way to end it. */
export class SimHost implements Host {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string>>;
  readonly said = { out: '', err: '' };
  readonly stdout = this.#output('out');
  readonly stderr = this.#output('err');
  /** The cleanups that would run if the process ended now. */
  readonly undos = new Set<() => void>();
  readonly #stopping = new AbortController();
  #onSignal: (signal: NodeJS.Signals) => void = () => {};

  constructor({ clock = systemClock, env = {} }: Partial<Pick<SimHost, 'clock' | 'env'>> = {}) {
    this.clock = clock;
    this.env = env;
  }

  get stdin(): ReadStream {
    throw new Error('this command has nothing to ask');
  }

  stopOn(): AbortSignal {
    return this.#stopping.signal;
  }

  onSignals(_signals: readonly NodeJS.Signals[], listener: (signal: NodeJS.Signals) => void): void {
    this.#onSignal = listener;
  }

  kill(pid: number, signal: NodeJS.Signals | 0): void {
    process.kill(pid, signal);
  }

  /** Sends a signal to the process. */
  signal(signal: NodeJS.Signals): void {
    this.#onSignal(signal);
  }

  beforeExit(undo: () => void): () => void {
    this.undos.add(undo);
    return () => this.undos.delete(undo);
  }

  /** Asks the process to exit. */
  stop(): void {
    this.#stopping.abort('SIGTERM');
  }

  #output(name: 'out' | 'err'): WriteStream {
    const output = new Writable({
      write: (chunk: unknown, _encoding, done) => {
        this.said[name] += String(chunk);
        done();
      },
    });
    return output as WriteStream;
  }
}
