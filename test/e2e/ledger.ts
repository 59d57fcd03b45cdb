import { existsSync, readFileSync } from 'node:fs';
import { FencedWrites } from '../invariants/fenced-writes.ts';

/** A line that a leader has written. */
export interface LedgerLine {
  readonly token: number;
  readonly writer: string;
}

/** What leaders of one Lease have written, one after the other: a file that only a leader may append to. */
export class Ledger {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** @throws Error where a line is not as a program writes it. */
  lines(): readonly LedgerLine[] {
    if (!existsSync(this.#file)) return [];
    return readFileSync(this.#file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => {
        const [, token, writer] = /^(\d+) (\S+)(?: \S+Z)?$/.exec(line) ?? [];
        if (token === undefined || writer === undefined)
          throw new Error(`${this.#file} has the line: ${line}`);
        return { token: Number(token), writer };
      });
  }

  /** How many lines there are. */
  get length(): number {
    return this.lines().length;
  }

  /** Under how many tokens. */
  get terms(): number {
    return new Set(this.lines().map(({ token }) => token)).size;
  }

  /** Who has written last. */
  get writer(): string | undefined {
    return this.lines().at(-1)?.writer;
  }

  /** What is wrong with all of it, in words: tokens that go back, and two writers with one token. */
  violations(lease: string): readonly string[] {
    const invariant = new FencedWrites();
    return this.lines().flatMap(({ token, writer: who }, at) =>
      invariant.observe({ kind: 'writesElsewhere', at, who, key: lease, token }),
    );
  }
}
