import type { Sink } from '../../src/status-page/broadcast.ts';
import type { LeaseEntry, Messages } from '../../src/status-page/wire.ts';

type Told = { [E in keyof Messages]: { readonly event: E; readonly message: Messages[E] } }[keyof Messages];

/** A reader of a stream, at the speed of the test. */
export class SimReader implements Sink {
  /** Bytes that it has not read yet. */
  writableLength = 0;
  /** Whether it reads everything at once. */
  isFast = true;
  isEnded = false;
  isCut = false;
  readonly told: Told[] = [];
  /** The text that it would show. */
  readonly shown = new Map<string, LeaseEntry>();

  write(text: string): void {
    if (!this.isFast) this.writableLength += text.length;
    const [, event, data = ''] = /^event: (\w+)\ndata: (.*)\n\n$/.exec(text) ?? [];
    this.#take({ event, message: JSON.parse(data) } as Told);
  }

  /** Reads all waiting bytes. */
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
