import { expect, test } from 'vitest';
import { blocksIn, commandBlocksIn } from './command-blocks.ts';

const guide = `# Guide

\`\`\`sh
first
\`\`\`

## Install

<!-- test: needs a registry -->
\`\`\`sh
push \\
  it
\`\`\`

Some words.

\`\`\`text
pushed
\`\`\`

### Look

1. Look at it:

   \`\`\`sh
   cat <<EOF
     indented
   EOF
   \`\`\`

## Leave

\`\`\`text
# not what looking prints
\`\`\`
\`\`\`\`
\`\`\`
\`\`\`\`
`;

test('finds every block with its headings, language, line and comment', () => {
  const seen = blocksIn(guide).map(({ heading, language, line, comment }) => [
    line,
    heading,
    language,
    comment,
  ]);
  expect(seen).toEqual([
    [4, 'Guide', 'sh', undefined],
    [11, 'Install', 'sh', 'test: needs a registry'],
    [18, 'Install', 'text', undefined],
    [26, 'Install > Look', 'sh', undefined],
    [34, 'Leave', 'text', undefined],
    [37, 'Leave', '', undefined],
  ]);
});

test('gives commands as they are to be typed, each with what it prints', () => {
  expect(commandBlocksIn(guide).map(({ text, output }) => [text, output])).toEqual([
    ['first', undefined],
    ['push \\\n  it', 'pushed'],
    ['cat <<EOF\n  indented\nEOF', undefined],
  ]);
});

test('says where a fence is not closed', () => {
  expect(() => blocksIn('a\n```sh\nls')).toThrow('line 2');
});
