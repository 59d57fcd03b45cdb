import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import fc from 'fast-check';
import { compare } from 'semver';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { candidateCases } from '../conformance/candidate-cases.ts';
import { candidateJudge, ownGroup, usualSpec } from '../conformance/candidate-table.ts';
import { apiRequest } from '../control-plane/api-request.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import {
  type KubernetesVersion,
  kubernetesVersions,
  leaseCandidateVersions,
} from '../control-plane/kubernetes-versions.ts';
import { type Kubectl, kubectlFor } from './kubectl.ts';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const { spec: definition } = parse(
  await readFile(new URL('../../deploy/crd.yaml', import.meta.url), 'utf8'),
) as {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[] };
};

/**
 * All cases on the newest and the oldest version. On the versions in between, which have never had other results:
 * only the cases in which the groups differ, or a candidate changes.
 */
const inFull: readonly KubernetesVersion[] = ['1.36.3', '1.31.4'];
const inPart = candidateCases.filter(
  ({ difference, change }) => difference !== undefined || change !== undefined,
);

describe.each(kubernetesVersions)('LeaseCandidates of both groups, on Kubernetes %s', (version) => {
  const agent = new Agent({ keepAlive: true });
  let plane: ControlPlane;
  let ca: string;
  let kubectl: Kubectl;

  beforeAll(async () => {
    plane = await startControlPlane({ version });
    ca = await readFile(plane.caFile, 'utf8');
    await installCandidateResource(plane);
    kubectl = await kubectlFor(plane.kubeconfig);
  });
  afterAll(async () => {
    agent.destroy();
    await kubectl?.remove();
    await plane?.stop();
  });

  function ask(method: string, path: string, body?: unknown) {
    return apiRequest({ url: plane.url, token: plane.adminToken, ca, agent }, method, path, body);
  }

  const judge = candidateJudge(leaseCandidateVersions[version][0], ask);

  const isInFull = inFull.includes(version);

  test.for(isInFull ? candidateCases : inPart)('$name', (each) => judge.expectCase(each));

  if (isInFull)
    test('a program emulates no version after its own, by semver’s order', async () => {
      const identifier = fc.constantFrom(
        '0',
        '1',
        '2',
        '9',
        '10',
        '11',
        'a',
        'A',
        'a-',
        'a0',
        '0a',
        '-',
        '--1',
        'rc',
        'beta',
      );
      const number = fc.constantFrom(0, 1, 2, 9, 10, 11, 99, 100, 999_999_999_999_999);
      const dotted = fc.array(identifier, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'));
      const core = fc.tuple(number, number, number).map((parts) => parts.join('.'));
      const release = fc.tuple(fc.option(dotted), fc.option(dotted, { freq: 1 }));
      const written = (start: string, [before, build]: readonly [string | null, string | null]) =>
        `${start}${before === null ? '' : `-${before}`}${build === null ? '' : `+${build}`}`;
      // Half of the pairs have the same numbers, so that their suffixes decide.
      const pair = fc
        .tuple(core, fc.option(core), release, release)
        .map(
          ([first, second, one, other]) => [written(first, one), written(second ?? first, other)] as const,
        );
      await fc.assert(
        fc.asyncProperty(pair, async ([binaryVersion, emulationVersion]) => {
          const spec = { ...usualSpec, strategy: 'example.com/any', binaryVersion, emulationVersion };
          const { outcome } = await judge.create(ownGroup, 'a', spec);
          expect(outcome).toBe(compare(emulationVersion, binaryVersion) <= 0 ? 'taken' : 'refused');
        }),
        { numRuns: 400 },
      );
    });

  test('our group adds only the documented defaults', async () => {
    const spec = { leaseName: 'web', renewTime: null, holder: 'a' };
    const body = { apiVersion: ownGroup.apiVersion, kind: 'LeaseCandidate', metadata: { name: 'a' }, spec };
    const { text } = await ask('POST', `${ownGroup.path}?dryRun=All`, body);
    expect((JSON.parse(text) as { spec: unknown }).spec).toEqual({
      leaseName: 'web',
      binaryVersion: '0.0.0',
      strategy: 'OldestEmulationVersion',
    });
  });

  test('kubectl finds ours by short name, category and Lease, and shows the deciding fields', async () => {
    for (const [name, leaseName, priority] of [
      ['web-0', 'web', 5],
      ['web-1', 'web', undefined],
      ['db-0', 'db', -1],
    ] as const) {
      const spec = { ...usualSpec, leaseName, emulationVersion: '1.35.0', priority };
      expect(await judge.create(ownGroup, name, spec, '')).toMatchObject({ outcome: 'taken' });
    }
    const rowsOf = async (...args: readonly string[]) => {
      const { stdout, stderr } = await kubectl.run(['get', ...args]);
      expect(stderr).toBe('');
      return stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/ +/).slice(0, -1).join(' '));
    };
    const heading = 'NAME LEASENAME BINARYVERSION EMULATIONVERSION PRIORITY';
    const db = 'db-0 db 1.36.0 1.35.0 -1';
    const web = ['web-0 web 1.36.0 1.35.0 5', 'web-1 web 1.36.0 1.35.0'];
    expect(await rowsOf('lcand')).toEqual([heading, db, ...web]);
    expect(await rowsOf('leader-election')).toEqual([heading, db, ...web]);
    expect(await rowsOf('lcand', '--field-selector', 'spec.leaseName=web')).toEqual([heading, ...web]);
  });

  test('kubectl explains every field of ours', async () => {
    const [served] = definition.versions;
    const fields = Object.keys(served?.schema.openAPIV3Schema.properties?.['spec']?.properties ?? {});
    expect(fields).toHaveLength(7);
    for (const field of ['', '.spec', ...fields.map((name) => `.spec.${name}`)]) {
      const { stdout, stderr } = await kubectl.run(['explain', `lcand${field}`]);
      expect(stderr).toBe('');
      const [, description = ''] = /DESCRIPTION:\n([\s\S]+?)\n\s*\n/.exec(stdout) ?? [];
      expect(description.trim().split(/\s+/).length, field).toBeGreaterThan(10);
    }
  });
});
