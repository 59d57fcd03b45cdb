import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { stories } from './stories.ts';
import { tellStory } from './story-teller.ts';

/** What a real server made of each story; stories.e2e.test.ts writes and checks it. */
const told = readFileSync(new URL('testdata/stories.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n\n# ')
  .map((text, index) => (index === 0 ? text : `# ${text}`));

describe('ownership is recorded as by the real server when', () => {
  it.each(stories.map((story, index) => ({ name: story.name, story, want: told[index] })))(
    '$name',
    ({ story, want }) => {
      expect(tellStory(story)).toBe(want);
    },
  );

  it('all the stories have been told', () => {
    expect(told).toHaveLength(stories.length);
  });
});
