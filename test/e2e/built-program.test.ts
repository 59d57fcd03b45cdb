import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { builtProgram, environmentOf } from './built-program.ts';

test('the program is measured with the environment of the image', () => {
  expect(builtProgram.env).toEqual({
    NODE_ENV: 'production',
    MALLOC_ARENA_MAX: '2',
    NODE_OPTIONS: '--max-semi-space-size=4',
  });
});

/** The maximum size of V8's space for new objects while a process keeps some of very many objects, in MiB. */
function maxMebibytes(env: Readonly<Record<string, string>>): number {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    const kept = [];
    let most = 0;
    for (let turn = 0; turn < 200; turn++) {
      for (let index = 0; index < 10_000; index++) kept[index + (turn % 40) * 10_000] = { index, text: 'x' + index };
      await new Promise((resolve) => setImmediate(resolve));
      const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
      most = Math.max(most, space_size);
    }
    console.log(most / 2 ** 20);
    process.exit();`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    env,
  });
  return Number(stdout);
}

test('V8’s space for new objects stays within some MiB in the image, and grows beyond that without its options', () => {
  expect(maxMebibytes(environmentOf(''))).toBeGreaterThan(34);
  expect(maxMebibytes(builtProgram.env ?? {})).toBeLessThanOrEqual(34);
}, 30_000);
