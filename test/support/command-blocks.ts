/** A fenced block of a Markdown text. */
export interface Block {
  /** The headings above it, from the second level down: `Upgrade > Roll back`. */
  readonly heading: string;
  /** The text after the opening fence; may be empty. */
  readonly language: string;
  readonly text: string;
  /** The number of its first line, from 1. */
  readonly line: number;
  /** The text of the HTML comment right above it. It is for tests; readers do not see it. */
  readonly comment: string | undefined;
}

/** A block of shell commands, with the output that the text shows for them. */
export interface CommandBlock extends Block {
  /** The `text` block between this block and the next block of commands, below the same heading. */
  readonly output: string | undefined;
}

/**
 * Returns all fenced blocks, in order. Removes the indentation of blocks in lists.
 * @throws Error if a fence is not closed
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

/** Returns the `sh` blocks, each with its output if the text shows one in a `text` block. */
export function commandBlocksIn(markdown: string): readonly CommandBlock[] {
  const blocks = blocksIn(markdown);
  return blocks.flatMap((block, index) => {
    if (block.language !== 'sh') return [];
    const next = blocks[index + 1];
    const isOutput = next?.language === 'text' && next.heading === block.heading;
    return [{ ...block, output: isOutput ? next.text : undefined }];
  });
}
