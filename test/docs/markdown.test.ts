import { describe, expect, test } from 'vitest';
import { anchorsIn, linksIn } from './markdown.ts';

describe('the links of a Markdown text', () => {
  test.each<{ name: string; markdown: string; want: readonly string[] }>([
    { name: 'stand in it', markdown: 'a [b](c.md) and [d](../e/f.ts#g)', want: ['c.md', '../e/f.ts#g'] },
    { name: 'may be pictures', markdown: '![b](c.png)', want: ['c.png'] },
    { name: 'may be pictures that lead somewhere', markdown: '[![b](c.png)](d.md)', want: ['c.png', 'd.md'] },
    { name: 'may have code for a text', markdown: '[`b`](c.ts)', want: ['c.ts'] },
    { name: 'may have a title', markdown: '[b](c.md "d")', want: ['c.md'] },
    { name: 'may have parentheses', markdown: '[b](https://c/d_(e))', want: ['https://c/d_(e)'] },
    { name: 'may be defined apart', markdown: '[b]\n\n[b]: c.md', want: ['c.md'] },
    { name: 'may be HTML', markdown: '<img src="c.png" width="1">', want: ['c.png'] },
    { name: 'are none in code', markdown: '`[b](c.md)` [d](e.md)', want: ['e.md'] },
    { name: 'are none in a block of code', markdown: '```sh\n[b](c.md)\n```\n[d](e.md)', want: ['e.md'] },
  ])('$name', ({ markdown, want }) => {
    expect(linksIn(markdown).map(({ target }) => target)).toEqual(want);
  });

  test('are told with their lines', () => {
    expect(linksIn('```\na\n```\n\n[b](c.md)')).toEqual([{ target: 'c.md', line: 5 }]);
  });
});

describe('the anchors of a Markdown text', () => {
  test.each<{ name: string; markdown: string; want: readonly string[] }>([
    {
      name: 'are its headings',
      markdown: '# A title\n\ntext\n\n## More of it',
      want: ['a-title', 'more-of-it'],
    },
    { name: 'have no punctuation', markdown: '## What, if: `a/b`?', want: ['what-if-ab'] },
    { name: 'have hyphens and underscores', markdown: '## a-b_c - d', want: ['a-b_c---d'] },
    { name: 'have the text of links', markdown: '## [a](b.md) c', want: ['a-c'] },
    { name: 'are told apart', markdown: '# a\n# a\n# a', want: ['a', 'a-1', 'a-2'] },
    { name: 'are none in a block of code', markdown: '```sh\n# a\n```\n# b', want: ['b'] },
  ])('$name', ({ markdown, want }) => {
    expect([...anchorsIn(markdown)]).toEqual(want);
  });
});
