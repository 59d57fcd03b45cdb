import { expect, test } from 'vitest';
import { openRunbook } from './runbook.ts';

/** A shell that keeps what it is told to run, and prints what it is told to print. */
function makeShell(...outputs: readonly string[]) {
  const scripts: string[] = [];
  return {
    scripts,
    async run(script: string) {
      scripts.push(script);
      return { code: 0, output: outputs[scripts.length - 1] ?? '' };
    },
    async remove() {},
  };
}

test('runs a block as it is written, after the variables above it', async () => {
  const shell = makeShell('gone');
  const runbook = await openRunbook('LeaseWithoutLeader', shell);
  expect(await runbook.follow('kubectl describe lease', /gone/)).toBe('gone');
  expect(shell.scripts).toEqual([
    'LEASE_NAMESPACE=shop\nLEASE=checkout\nCOMPONENT=deployment/checkout\n' +
      'kubectl describe lease "$LEASE" --namespace "$LEASE_NAMESPACE"',
  ]);
});

test('looks again until a block prints what it should, but does nothing twice', async () => {
  const shell = makeShell('not yet', 'done', 'not yet');
  const runbook = await openRunbook('LeaseWithoutLeader', shell);
  expect(await runbook.follow('kubectl describe lease', /done/)).toBe('done');
  await expect(runbook.act('kubectl rollout restart', /done/)).rejects.toThrow(
    /LeaseWithoutLeader\.md:\d+ should print \/done\//,
  );
});

test('knows which blocks were not run', async () => {
  const runbook = await openRunbook('LeaseWithoutLeader', makeShell());
  const before = runbook.left();
  await runbook.follow('kubectl describe lease', /^$/);
  expect(before.filter((command) => !runbook.left().includes(command))).toEqual([
    expect.stringContaining('kubectl describe lease'),
  ]);
  expect(before.join()).not.toContain('LEASE=checkout');
});

test('refuses to guess which block is meant', async () => {
  const runbook = await openRunbook('LeaseWithoutLeader', makeShell());
  await expect(runbook.follow('kubectl', /./)).rejects.toThrow('not one block');
  await expect(runbook.follow('rm -rf', /./)).rejects.toThrow('not one block');
});
