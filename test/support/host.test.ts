import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const MODULE = new URL('../../src/support/host.ts', import.meta.url).href;

/** The most that V8's space for new objects has while a process keeps some of a great many objects, in MiB. */
function mostMebibytes(before: string): number {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    ${before}
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
  });
  return Number(stdout);
}

test('V8’s space for new objects stays within some MiB, and grows beyond that without it', () => {
  const bound = `(await import('${MODULE}')).boundYoungGeneration();`;
  expect(mostMebibytes(bound)).toBeLessThanOrEqual(34);
  expect(mostMebibytes('')).toBeGreaterThan(34);
}, 30_000);
