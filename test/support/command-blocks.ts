/** A fenced block of a Markdown text. */
export interface Block {
  /** The headings above it, from the second level down: `Upgrade > Roll back`. */
  readonly heading: string;
  /** What follows the opening fence; empty where nothing does. */
  readonly language: string;
  readonly text: string;
  /** Where its first line is, counted from 1. */
  readonly line: number;
  /** What the HTML comment right above it says: for tests, as readers do not see it. */
  readonly comment: string | undefined;
}

/** A block of commands for a shell, with what the text says that they print. */
export interface CommandBlock extends Block {
  /** The `text` block between this one and the next of commands, below the same heading. */
  readonly output: string | undefined;
}

/**
 * Every fenced block, in order. Blocks in lists come without their indentation.
 * @throws Error where a fence is not closed.
 */
export function blocksIn(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  const headings: string[] = [];
  let comment: string | undefined;
  const lines = markdown.split('\n');
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    const [, hashes = '', title = ''] = /^(#{1,6}) +(.*\S)/.exec(line) ?? [];
    if (hashes !== '') headings.splice(Math.max(hashes.length - 2, 0), headings.length, title);
    const [, indentation = '', fence = '', language = ''] = /^( *)(`{3,}) *(\S*)/.exec(line) ?? [];
    if (fence !== '') {
      const end = lines.findIndex((other, at) => at > index && other.trim() === fence);
      if (end < 0) throw new Error(`line ${index + 1}: a fence that is never closed`);
      const text = lines
        .slice(index + 1, end)
        .map((each) => (each.startsWith(indentation) ? each.slice(indentation.length) : each.trimStart()))
        .join('\n');
      blocks.push({ heading: headings.join(' > '), language, text, line: index + 2, comment });
      index = end;
    }
    if (line.trim() !== '') comment = /^ *<!-- *(.*?) *-->$/.exec(line)?.[1];
  }
  return blocks;
}

/** The blocks in `sh`, and after each what it prints, if the text shows that in a block in `text`. */
export function commandBlocksIn(markdown: string): readonly CommandBlock[] {
  const blocks = blocksIn(markdown);
  return blocks.flatMap((block, index) => {
    if (block.language !== 'sh') return [];
    const next = blocks[index + 1];
    const isOutput = next?.language === 'text' && next.heading === block.heading;
    return [{ ...block, output: isOutput ? next.text : undefined }];
  });
}
