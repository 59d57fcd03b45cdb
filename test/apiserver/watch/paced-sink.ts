import type { StreamSink } from '../../../src/apiserver/watch/served-watch.ts';

/** A line of a watch, parsed. */
export interface WatchLine {
  readonly type: string;
  readonly object: {
    readonly kind?: string;
    readonly message?: string;
    readonly metadata: {
      readonly name?: string;
      readonly namespace?: string;
      readonly resourceVersion?: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly spec?: { readonly value?: unknown };
  };
}

/** A connection whose client reads on request. It accepts writes until `capacity` bytes are waiting. */
export class PacedSink implements StreamSink {
  state: 'open' | 'ended' | 'destroyed' | 'closed' = 'open';
  readonly writes: Buffer[] = [];
  #capacity: number;
  #waiting = 0;
  #isRefusing = false;
  #onDrain = () => {};
  #onClose = () => {};

  constructor(capacity = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
  }

  write(chunk: Buffer): boolean {
    if (this.state !== 'open') throw new Error(`written to a connection that is ${this.state}`);
    if (this.#isRefusing) throw new Error('written to before it has drained');
    this.writes.push(chunk);
    this.#waiting += chunk.length;
    this.#isRefusing = this.#waiting >= this.#capacity;
    return !this.#isRefusing;
  }

  end(): void {
    this.#close('ended');
  }

  destroy(): void {
    this.#close('destroyed');
  }

  onDrain(callback: () => void): void {
    this.#onDrain = callback;
  }

  onClose(callback: () => void): void {
    this.#onClose = callback;
  }

  /** The client reads all waiting bytes. */
  read(): void {
    this.#waiting = 0;
    if (!this.#isRefusing || this.state !== 'open') return;
    this.#isRefusing = false;
    this.#onDrain();
  }

  /** From now on the client reads at once. */
  readAlways(): void {
    this.#capacity = Number.POSITIVE_INFINITY;
    this.read();
  }

  /** The client disconnects. */
  leave(): void {
    this.#close('closed');
  }

  get lines(): readonly WatchLine[] {
    const text = Buffer.concat(this.writes).toString('utf8');
    if (text !== '' && !text.endsWith('\n')) throw new Error('the last line is not whole');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as WatchLine);
  }

  /** The lines in short form: `ADDED n/a@3`. */
  get summary(): readonly string[] {
    return this.lines.map(({ type, object }) => {
      const { namespace, name, resourceVersion } = object.metadata;
      const key = [namespace, name].filter((part) => part !== undefined).join('/');
      return `${type} ${key}@${resourceVersion}`;
    });
  }

  #close(state: 'ended' | 'destroyed' | 'closed'): void {
    if (this.state !== 'open') throw new Error(`closed twice: ${this.state}, then ${state}`);
    this.state = state;
    this.#onClose();
  }
}
