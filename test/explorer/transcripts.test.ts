import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { jobs } from './jobs.ts';
import { choicesIn } from './replay.ts';

const FOLDER = `${import.meta.dirname}/transcripts`;

describe('an earlier violation does not happen any more', () => {
  test.each(readdirSync(FOLDER))('%s', (file) => {
    const choices = choicesIn(readFileSync(`${FOLDER}/${file}`, 'utf8'));
    const job = jobs.find(({ name }) => name === file.replace(/(-\d+)?\.txt$/, ''));
    expect(job?.replay(choices).violations).toEqual([]);
  });
});
