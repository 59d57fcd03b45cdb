import type { Sink } from '../../src/status-page/viewer.ts';
import type { LeaseEntry, Messages } from '../../src/status-page/wire.ts';

type Told = { [E in keyof Messages]: { readonly event: E; readonly message: Messages[E] } }[keyof Messages];

/** Whoever reads a stream, as fast as a test lets it. */
export class SimReader implements Sink {
  /** Bytes that it has yet to take. */
  writableLength = 0;
  /** Whether it takes everything at once. */
  isFast = true;
  isEnded = false;
  isCut = false;
  readonly told: Told[] = [];
  /** What it would show. */
  readonly shown = new Map<string, LeaseEntry>();

  write(chunk: Buffer): boolean {
    if (!this.isFast) this.writableLength += chunk.length;
    for (const text of chunk.toString().split('\n\n')) {
      const match = /^event: (\w+)\ndata: (.*)$/.exec(text);
      if (match) this.#take({ event: match[1], message: JSON.parse(match[2] ?? '') } as Told);
    }
    return this.isFast;
  }

  /** Takes everything that it has yet to take. */
  drain(): void {
    this.writableLength = 0;
  }

  end(): void {
    this.isEnded = true;
  }

  destroy(): void {
    this.isCut = true;
  }

  of<E extends keyof Messages>(event: E): readonly Messages[E][] {
    return this.told.filter((each) => each.event === event).map(({ message }) => message as Messages[E]);
  }

  #take(told: Told): void {
    this.told.push(told);
    if (told.event !== 'leases') return;
    for (const entry of told.message.changed) this.shown.set(entry.key, entry);
    for (const key of told.message.gone) this.shown.delete(key);
  }
}
