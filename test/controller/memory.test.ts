import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

const BENCH = new URL('../../bench/memory.ts', import.meta.url).pathname;

test('a Lease, and a candidate, need less than 1.2 kB of memory each', async () => {
  const child = spawn(process.execPath, ['--expose-gc', BENCH, '--objects', '5000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let told = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  expect(told).toContain('25000 candidates');
  expect(code).toBe(0);
});
