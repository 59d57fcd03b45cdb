import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { stories } from './stories.ts';
import { tellStory } from './story-teller.ts';

/** The results of a real server for each story; stories.e2e.test.ts writes and checks them. */
const told = readFileSync(new URL('testdata/stories.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n\n# ')
  .map((text, index) => (index === 0 ? text : `# ${text}`));

describe('ownership is recorded as by the real server when', () => {
  test.each(stories.map((story, index) => ({ name: story.name, story, want: told[index] })))(
    '$name',
    ({ story, want }) => {
      expect(tellStory(story)).toBe(want);
    },
  );

  test('all stories were played', () => {
    expect(told).toHaveLength(stories.length);
  });
});
