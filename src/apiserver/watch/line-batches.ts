/**
 * Joins lines into what is written in one go. Watchers of one view that are told of the same events are given the same
 * bytes: copying them for each of thousands would cost more than all the rest.
 */
export class LineBatches {
  readonly #byFirstLine = new Map<Buffer, { readonly lines: readonly Buffer[]; readonly joined: Buffer }>();

  /** `lines` is not empty, and not changed afterwards. */
  join(lines: readonly [Buffer, ...Buffer[]]): Buffer {
    if (lines.length === 1) return lines[0];
    const known = this.#byFirstLine.get(lines[0]);
    if (known?.lines.length === lines.length && known.lines.every((line, index) => line === lines[index])) {
      return known.joined;
    }
    const joined = Buffer.concat(lines);
    this.#byFirstLine.set(lines[0], { lines, joined });
    return joined;
  }

  forget(): void {
    this.#byFirstLine.clear();
  }
}
