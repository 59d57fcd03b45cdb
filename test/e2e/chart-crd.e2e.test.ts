import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ownCandidatesPath } from '../control-plane/candidate-resource.ts';
import { createNamespaces } from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { eventually } from './coordinator.ts';
import { chartFolder, type Helm, release, startHelm } from './helm.ts';
import { type Kubectl, kubectlFor } from './kubectl.ts';

interface Candidate {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly spec: unknown;
}

const definitionName = 'leasecandidates.coordinated-leader-election.dev';
const deployFile = new URL('../../deploy/crd.yaml', import.meta.url).pathname;
const names = ['web-0', 'web-1'];

describe.each(['1.36.3', '1.31.4'] as const)('the chart and LeaseCandidates, on Kubernetes %s', (version) => {
  let helm: Helm;
  let kubectl: Kubectl;
  let plane: ControlPlane;

  beforeAll(async () => {
    helm = await startHelm();
    plane = await startControlPlane({ version });
    kubectl = await kubectlFor(plane.kubeconfig);
    await createNamespaces(plane, 'team-a', 'team-b');
  });
  afterEach(async () => {
    await runHelm('uninstall', '--ignore-not-found');
    await kubectl.run(['delete', 'crd', definitionName, '--ignore-not-found']);
  });
  afterAll(async () => {
    await kubectl?.remove();
    await plane?.stop();
    await helm?.remove();
  });

  async function runHelm(command: string, ...args: readonly string[]): Promise<void> {
    const common = ['--namespace', release.namespace, '--kubeconfig', plane.kubeconfig];
    const { code, stderr } = await helm.run([command, release.name, ...args, ...common]);
    expect(code, stderr).toBe(0);
  }

  const install = (...values: readonly string[]) => runHelm('install', chartFolder, ...values);
  const upgrade = (...values: readonly string[]) => runHelm('upgrade', chartFolder, ...values);
  const uninstall = () => runHelm('uninstall');

  async function runKubectl(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await kubectl.run(args);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  }

  /** The uid of the definition: a new definition would have another uid, and would not have the objects. */
  async function definition(): Promise<string> {
    return runKubectl(
      'get',
      'crd',
      definitionName,
      '--ignore-not-found',
      '--output',
      'jsonpath={.metadata.uid}',
    );
  }

  /** Creates candidates in two namespaces, when they are served. */
  async function createCandidates(): Promise<void> {
    await runKubectl('wait', '--for=condition=Established', `crd/${definitionName}`);
    const apiVersion = 'coordinated-leader-election.dev/v1alpha1';
    for (const namespace of ['team-a', 'team-b']) {
      for (const name of names) {
        const body = { apiVersion, kind: 'LeaseCandidate', metadata: { name }, spec: { leaseName: 'web' } };
        const create = () => plane.request('POST', ownCandidatesPath(namespace), body).catch(() => undefined);
        await eventually(create, `${namespace}/${name} is created`);
      }
    }
  }

  /** After a change of the definition, a kube-apiserver answers 429 until it has read all objects again. */
  async function candidates(): Promise<readonly Candidate[]> {
    const lists = ['team-a', 'team-b'].map((namespace) =>
      eventually(
        () =>
          plane.request<{ items: Candidate[] }>('GET', ownCandidatesPath(namespace)).catch((error: Error) => {
            if (error.message.includes(': 429 ')) return undefined;
            throw error;
          }),
        `the candidates in ${namespace}`,
      ),
    );
    return (await Promise.all(lists)).flatMap(({ items }) => items);
  }

  test('no candidate is lost in an upgrade that changes the definition', async () => {
    const older = await mkdtemp(join(tmpdir(), 'older-chart-'));
    onTestFinished(() => rm(older, { recursive: true }));
    await cp(chartFolder, older, { recursive: true });
    const file = join(older, 'files/crd.yaml');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('shortNames: [lcand]', 'shortNames: [before]'));
    await runHelm('install', older);
    await createCandidates();
    const before = { definition: await definition(), candidates: await candidates() };
    await upgrade();
    expect({ definition: await definition(), candidates: await candidates() }).toEqual(before);
    const shortNames = [
      'get',
      'crd',
      definitionName,
      '--output',
      'jsonpath={.status.acceptedNames.shortNames}',
    ];
    const accepted = async () => (await runKubectl(...shortNames)) === '["lcand"]' || undefined;
    await eventually(accepted, 'the definition of the newer chart');
    await uninstall();
  });

  test('no candidate is lost in an upgrade, an uninstall, or an install over the rest', async () => {
    await install();
    await createCandidates();
    const before = { definition: await definition(), candidates: await candidates() };
    expect(before.candidates.map(({ metadata }) => metadata.name)).toEqual([...names, ...names]);
    const untouched = async () =>
      expect({ definition: await definition(), candidates: await candidates() }).toEqual(before);

    await upgrade('--set', 'replicaCount=3');
    await untouched();
    await upgrade('--set', 'crds.install=false');
    await untouched();
    await upgrade();
    await untouched();
    await uninstall();
    await untouched();
    await install();
    await untouched();
    await uninstall();
    await untouched();
  });

  test('the definition is deleted with the release if it should not be kept, with all candidates', async () => {
    await install('--set', 'crds.keep=false');
    await createCandidates();
    await uninstall();
    await eventually(async () => (await definition()) === '' || undefined, 'the definition is gone');
    await install();
    await createCandidates();
    await upgrade('--set', 'crds.keep=false');
    await uninstall();
    await eventually(async () => (await definition()) === '' || undefined, 'the definition is gone');
  });

  test('a definition that kubectl has applied is left alone, or taken over with all candidates', async () => {
    await runKubectl('apply', '--filename', deployFile);
    await createCandidates();
    const before = { definition: await definition(), candidates: await candidates() };
    const refused = await helm.run([
      ...['install', release.name, chartFolder, '--namespace', release.namespace],
      ...['--kubeconfig', plane.kubeconfig],
    ]);
    expect(refused.stderr).toContain(`CustomResourceDefinition "${definitionName}"`);
    expect(refused.code).not.toBe(0);
    await upgrade('--install', '--set', 'crds.install=false');
    await uninstall();
    expect({ definition: await definition(), candidates: await candidates() }).toEqual(before);

    await install('--take-ownership', '--server-side=true', '--force-conflicts');
    expect({ definition: await definition(), candidates: await candidates() }).toEqual(before);
    await upgrade();
    await uninstall();
    expect({ definition: await definition(), candidates: await candidates() }).toEqual(before);
  });
});
