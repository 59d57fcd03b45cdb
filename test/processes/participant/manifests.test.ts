import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runProgram } from '../../../src/cli/program.ts';

interface Container {
  readonly name: string;
  readonly env?: readonly {
    readonly name: string;
    readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
  }[];
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

/** The arguments of `participate` in the container of an example. */
async function participationOf(folder: string, container: string) {
  const text = readFileSync(new URL(`../../../examples/${folder}/deployment.yaml`, import.meta.url), 'utf8');
  const deployment = parseAllDocuments(text)
    .map(
      (document) =>
        document.toJS() as { kind: string; spec: { template: { spec: Record<string, Container[]> } } },
    )
    .find(({ kind }) => kind === 'Deployment');
  const { initContainers = [], containers = [] } = deployment?.spec.template.spec ?? {};
  const found = [...initContainers, ...containers].find(({ name }) => name === container);
  const words = [...(found?.command ?? []), ...(found?.args ?? [])];
  const env = (found?.env ?? []).map(({ name, valueFrom }) => {
    const { fieldPath = '' } = valueFrom?.fieldRef ?? {};
    // Of the downward API's values, a version must look like a version.
    return [name, fieldPath.includes('version') ? '1.4.2' : fieldPath];
  });
  const given: unknown[] = [];
  let stderr = '';
  await runProgram(words.slice(words.indexOf('participate')), {
    version: '1.2.3',
    env: Object.fromEntries(env),
    stdout: { write: () => true },
    stderr: { write: (said) => (stderr += said) },
    dispatch: async ({ name }, { lease, program: command, settings }) => {
      if (name !== 'participate') throw new Error('another command');
      given.push({ lease, command, settings });
      return 0;
    },
  });
  expect(stderr).toBe('');
  return given;
}

const STRATEGY = 'coordinated-leader-election.dev/NewestVersion';

describe('the examples of taking part', () => {
  test('wrap a command', async () => {
    expect(await participationOf('legacy', 'reports')).toMatchObject([
      {
        lease: 'reports',
        command: ['/bin/sh', '/opt/reports/make-reports.sh'],
        settings: { strategy: STRATEGY },
      },
    ]);
  });

  test('run beside a program', async () => {
    expect(await participationOf('python', 'participate')).toMatchObject([
      { lease: 'invoices', command: [], settings: { strategy: STRATEGY, leadByConnection: true } },
    ]);
    expect(await participationOf('kopf', 'participate')).toMatchObject([
      { lease: 'tenants', command: [], settings: { strategy: STRATEGY, leadByConnection: true } },
    ]);
  });
});
