import { expect, test } from 'vitest';
import { currentContent, generatedFiles } from '../../monitoring/generated-files.ts';

test.for([...(await generatedFiles())])(
  '$path is as alerts and dashboard have it (npm run docs brings it up to date)',
  async (file) => {
    expect(file.content.length).toBeGreaterThan(1000);
    expect(await currentContent(file)).toBe(file.content);
  },
);
