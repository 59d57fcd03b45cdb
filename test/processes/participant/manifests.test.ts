import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createProgram, type ProgramParts } from '../../../src/cli/program.ts';

interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

const never = async () => Promise.reject(new Error('another command'));

/** What `participate` is given by the container of an example. */
async function participationOf(file: string, container: string) {
  const text = readFileSync(new URL(`../../../examples/${file}`, import.meta.url), 'utf8');
  const deployment = parseAllDocuments(text)
    .map(
      (document) =>
        document.toJS() as { kind: string; spec: { template: { spec: Record<string, Container[]> } } },
    )
    .find(({ kind }) => kind === 'Deployment');
  const { initContainers = [], containers = [] } = deployment?.spec.template.spec ?? {};
  const found = [...initContainers, ...containers].find(({ name }) => name === container);
  const words = [...(found?.command ?? []), ...(found?.args ?? [])];
  const given: unknown[] = [];
  const commands: ProgramParts['commands'] = {
    run: never,
    serve: never,
    demo: never,
    status: never,
    explain: never,
    plan: never,
    doctor: never,
    transfer: never,
    drain: never,
    undrain: never,
    participate: async (lease, command, settings) => {
      given.push({ lease, command, settings });
      return 0;
    },
  };
  let stderr = '';
  const program = createProgram({
    version: '1.2.3',
    env: {},
    stdout: { write: () => true },
    stderr: { write: (said) => (stderr += said) },
    commands,
  });
  await program.execute(words.slice(words.indexOf('participate')));
  expect(stderr).toBe('');
  return given;
}

describe('the examples of taking part', () => {
  test('wrap a command', async () => {
    expect(await participationOf('wrapper.yaml', 'reports')).toMatchObject([
      { lease: 'reports', command: ['/bin/sh', '-c', expect.stringContaining('$CLE_FENCING_TOKEN')] },
    ]);
  });

  test('stand beside a program', async () => {
    expect(await participationOf('sidecar.yaml', 'participate')).toMatchObject([
      {
        lease: 'shop',
        command: [],
        settings: { file: '/leader/leader.json', labels: { file: '/pod/labels' } },
      },
    ]);
  });
});
