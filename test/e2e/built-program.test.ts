import { expect, test } from 'vitest';
import { builtProgram, environmentOf } from './built-program.ts';

test('the program is measured with the environment of the image', () => {
  expect(builtProgram.env).toEqual({ NODE_ENV: 'production', MALLOC_ARENA_MAX: '2' });
});

test('what an earlier stage of a Dockerfile sets is not in the image', () => {
  const text = 'FROM one AS build\nENV A=1\n\nFROM two\nENV B=x=y PATH=/bin\nENV C=3\n';
  expect(environmentOf(text)).toEqual({ B: 'x=y', C: '3' });
});
