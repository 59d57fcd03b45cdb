import { existsSync, readFileSync } from 'node:fs';
import { FencedWrites } from '../invariants/fenced-writes.ts';

/** A line that a leader has written. */
export interface LedgerLine {
  readonly token: number;
  readonly writer: string;
}

/** The lines of all leaders of one Lease, in order: a file to which only a leader may append. */
export class Ledger {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** @throws Error if a line does not have a program's format */
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

  /** The number of lines. */
  get length(): number {
    return this.lines().length;
  }

  /** The number of different tokens. */
  get terms(): number {
    return new Set(this.lines().map(({ token }) => token)).size;
  }

  /** The last writer. */
  get writer(): string | undefined {
    return this.lines().at(-1)?.writer;
  }

  /** Describes all violations: decreasing tokens, and two writers with the same token. */
  violations(lease: string): readonly string[] {
    const invariant = new FencedWrites();
    return this.lines().flatMap(({ token, writer: who }, at) =>
      invariant.observe({ kind: 'writesElsewhere', at, who, key: lease, token }),
    );
  }
}
