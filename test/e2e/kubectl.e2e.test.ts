import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { keepCoordinatorAway } from '../conformance/real-target.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { type EmbeddedPlane, startEmbeddedPlane } from '../control-plane/embedded-plane.ts';
import { eventually } from './coordinator.ts';
import { type Kubectl, type KubectlRun, kubectlFor } from './kubectl.ts';

let real: ControlPlane;
let embedded: EmbeddedPlane;
let onReal: Kubectl;
let onEmbedded: Kubectl;

beforeAll(async () => {
  real = await startControlPlane({
    runtimeConfig: ['coordination.k8s.io/v1beta1=true', 'coordination.k8s.io/v1alpha2=true'],
  });
  await installCandidateResource(real);
  embedded = await startEmbeddedPlane({
    leaseCandidateVersions: ['v1beta1', 'v1alpha2', CUSTOM_API_VERSION],
  });
  onReal = await kubectlFor(real.kubeconfig);
  onEmbedded = await kubectlFor(embedded.kubeconfig);
  // It would write to the Leases of these tests.
  await keepCoordinatorAway(real);
});
afterAll(async () => {
  await onReal?.remove();
  await onEmbedded?.remove();
  await embedded?.stop();
  await real?.stop();
});

const lease = (holder: string) => `
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: applied
  namespace: drill
  labels: {tier: one}
spec:
  holderIdentity: ${holder}
  leaseDurationSeconds: 15
`;

const candidate = `
apiVersion: coordination.k8s.io/v1beta1
kind: LeaseCandidate
metadata:
  name: one
  namespace: drill
spec:
  leaseName: nobody-elects
  binaryVersion: 1.36.0
  emulationVersion: 1.35.0
  strategy: example.com/none
`;

const ownCandidate = (priority: number) => `
apiVersion: coordinated-leader-election.dev/v1alpha1
kind: LeaseCandidate
metadata:
  name: own
  namespace: drill
spec:
  leaseName: nobody-elects
  strategy: example.com/none
  priority: ${priority}
`;

/** What differs between any two servers: what they draw by chance, when it was, and where they are. */
function normalized({ code, stdout, stderr }: KubectlRun, plane: { readonly url: string }): string {
  return `exit ${code}\n${stdout}\n${stderr}`
    .replaceAll(plane.url, 'https://server')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replaceAll(/(resourceVersion: )"?\d+"?/g, '$1<version>')
    .replaceAll(/("resourceVersion": )"\d+"/g, '$1<version>')
    .replaceAll(/Creation Timestamp:.*/g, 'Creation Timestamp: <time>')
    .replaceAll(/Resource Version:.*/g, 'Resource Version: <version>')
    .replaceAll(/\b\d+(ms|s|m|h)\b/g, '<age>')
    .replaceAll(/\/(LIVE|MERGED)-\d+/g, '/$1')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}/g, '<time>')
    .replaceAll(/[ \t]+/g, ' ');
}

/** Of a failure, the exit code, the reason and the invalid fields. Each server has its own words. */
function withoutProse(output: string): readonly string[] {
  const facts =
    /^exit \d+|Error from server \(\w+\)|Apply failed with \d+ conflicts?|is invalid|^\* [\w.<>]+: [A-Z]\w+ value/gm;
  return output.match(facts) ?? [];
}

async function onBoth(args: readonly string[], options: Parameters<Kubectl['run']>[1] = {}) {
  const [wanted, got] = await Promise.all([onReal.run(args, options), onEmbedded.run(args, options)]);
  return { wanted: normalized(wanted, real), got: normalized(got, embedded), code: got.code };
}

// In this order, as each goes on from what the last one left.
describe('kubectl prints the same as with a kube-apiserver', () => {
  test.each<{ args: string; input?: string; fails?: true }>([
    { args: 'create namespace drill' },
    { args: 'apply --server-side -f -', input: lease('one') },
    { args: 'apply --server-side -f -', input: lease('one') },
    { args: 'apply --server-side --field-manager=other -f -', input: lease('two'), fails: true },
    { args: 'apply --server-side --field-manager=other --force-conflicts -f -', input: lease('two') },
    { args: 'get lease applied -n drill -o yaml --show-managed-fields' },
    { args: 'apply -f -', input: candidate },
    { args: 'apply -f -', input: candidate.replace('1.35.0', '1.34.0') },
    { args: 'get leasecandidates -n drill -o yaml' },
    { args: 'get leases,leasecandidates -n drill' },
    { args: 'get leases -n drill -o wide --show-labels' },
    { args: 'get leases -n drill -l tier=one -o name' },
    { args: 'get leases -n drill -l tier!=one' },
    { args: 'get leases -n drill --field-selector metadata.name=applied -o name' },
    {
      args: 'get leasecandidates -n drill --field-selector spec.leaseName=nobody-elects -o name',
      fails: true,
    },
    { args: 'get lease absent -n drill', fails: true },
    { args: 'describe lease applied -n drill' },
    { args: 'describe leasecandidate one -n drill' },
    { args: 'apply -f -', input: ownCandidate(1) },
    { args: 'apply -f -', input: ownCandidate(2) },
    { args: 'apply --server-side --field-manager=other -f -', input: ownCandidate(3), fails: true },
    { args: 'apply -f -', input: ownCandidate(0.5), fails: true },
    { args: 'create -f -', input: ownCandidate(1).replace('priority', 'prio'), fails: true },
    { args: 'get lcand -n drill' },
    { args: 'get leader-election -n drill -o wide' },
    { args: 'get lcand own -n drill -o yaml' },
    { args: 'get lcand -n drill --field-selector spec.leaseName=nobody-elects -o name' },
    { args: 'get lcand -n drill --field-selector spec.leaseName=other -o name' },
    { args: 'get lcand -n drill --field-selector spec.priority=2', fails: true },
    { args: 'describe lcand own -n drill' },
    { args: 'explain lcand.spec' },
    { args: 'explain lcand.spec.priority' },
    { args: 'patch lcand own -n drill --type=merge -p {"spec":{"leaseName":"other"}}', fails: true },
    { args: 'patch lcand own -n drill --type=json -p [{"op":"remove","path":"/spec/priority"}]' },
    { args: 'patch lcand own -n drill -p {"spec":{"priority":5}}', fails: true },
    { args: 'diff -f -', input: ownCandidate(7), fails: true },
    { args: 'label lease applied -n drill tier=two', fails: true },
    { args: 'label lease applied -n drill tier=two --overwrite' },
    { args: 'annotate lease applied -n drill note=hello' },
    { args: 'patch lease applied -n drill --type=merge -p {"spec":{"leaseTransitions":3}}' },
    { args: 'patch lease applied -n drill --type=json -p [{"op":"remove","path":"/spec/leaseTransitions"}]' },
    { args: 'patch lease applied -n drill -p {"spec":{"leaseDurationSeconds":0}}', fails: true },
    { args: 'create -f -', input: lease('three'), fails: true },
    { args: 'create -f -', input: lease('three').replace('holderIdentity', 'holder'), fails: true },
    { args: 'apply --server-side --dry-run=server -f -', input: lease('four'), fails: true },
    { args: 'apply --server-side --dry-run=server --force-conflicts -f -', input: lease('four') },
    { args: 'get leases,leasecandidates -A -w', fails: true },
    { args: 'diff -f -', input: candidate, fails: true },
    { args: 'wait lease/applied -n drill --for=jsonpath={.spec.holderIdentity}=two --timeout=5s' },
    {
      args: 'wait lease/applied -n drill --for=jsonpath={.spec.holderIdentity}=three --timeout=1s',
      fails: true,
    },
    { args: 'get events -n drill' },
    { args: 'api-resources --api-group=coordination.k8s.io' },
    { args: 'api-resources --api-group=coordinated-leader-election.dev -o wide' },
    { args: 'auth can-i create leases -n drill' },
    { args: 'delete lease applied -n drill --cascade=background' },
    { args: 'delete leasecandidates --all -n drill' },
    { args: 'delete lcand own -n drill' },
    { args: 'get lcand -n drill' },
    { args: 'delete lease applied -n drill', fails: true },
    { args: 'get leases,leasecandidates -n drill' },
    { args: 'delete namespace default', fails: true },
  ])('$args', async ({ args, input, fails = false }) => {
    const { wanted, got, code } = await onBoth(args.split(' '), input === undefined ? {} : { input });
    if (fails) expect(withoutProse(got)).toEqual(withoutProse(wanted));
    else expect(got).toBe(wanted);
    expect(code !== 0).toBe(fails);
  });

  test('edit, with whatever editor', async () => {
    const editor = join(embedded.directory, 'editor.sh');
    await writeFile(editor, '#!/bin/sh\nsed -i "s/holderIdentity: one/holderIdentity: edited/" "$1"\n');
    await chmod(editor, 0o755);
    await onBoth(['apply', '-f', '-'], { input: lease('one') });
    const { wanted, got } = await onBoth(['edit', 'lease', 'applied', '-n', 'drill'], {
      env: { EDITOR: editor },
    });
    expect(got).toBe(wanted);
    const { stdout } = await onEmbedded.run(['get', 'lease', 'applied', '-n', 'drill', '-o', 'yaml']);
    expect(stdout).toContain('holderIdentity: edited');
  });
});

describe('kubectl on the embedded server', () => {
  test.each([
    {
      resource: 'leases',
      manifest: lease('first'),
      later: lease('second'),
      want: /watched +applied +first[\s\S]*second/,
    },
    {
      resource: 'leasecandidates',
      manifest: candidate,
      later: candidate.replace('1.35.0', '1.34.0'),
      want: /watched +one +nobody-elects +1.36.0 +1.35.0[\s\S]*1.34.0/,
    },
  ])(
    'watches the $resource of every namespace as they change',
    async ({ resource, manifest, later, want }) => {
      // Of several resources at once, kubectl refuses to watch: that is kubectl's own, whatever the server.
      const watching = onEmbedded.start(['get', resource, '-A', '-w']);
      await onEmbedded.run(['create', 'namespace', 'watched']);
      await onEmbedded.run(['apply', '-f', '-'], { input: manifest.replace('drill', 'watched') });
      await onEmbedded.run(['apply', '-f', '-'], { input: later.replace('drill', 'watched') });
      await eventually(() => want.test(watching.stdout()) || undefined, `${want} in ${watching.stdout()}`);
      await watching.stop();
    },
  );

  test.each([
    {
      path: 'leasecandidate.spec',
      want: ['leaseName', 'binaryVersion', 'emulationVersion', 'strategy', 'pingTime'],
    },
    { path: 'lease.spec', want: ['holderIdentity', 'preferredHolder', 'leaseTransitions'] },
    { path: 'lease.metadata.managedFields', want: ['fieldsV1', 'manager'] },
  ])('explains $path', async ({ path, want }) => {
    const { code, stdout, stderr } = await onEmbedded.run(['explain', path]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const field of want) expect(stdout).toMatch(new RegExp(`^ +${field}\\s+<`, 'm'));
    expect(stdout).not.toContain('<empty>');
  });

  test('deletes a namespace with everything in it', async () => {
    await onEmbedded.run(['create', 'namespace', 'going']);
    await onEmbedded.run(['apply', '-f', '-'], { input: lease('one').replace('drill', 'going') });
    const gone = await onEmbedded.run(['delete', 'namespace', 'going', '--timeout=20s']);
    expect(gone).toMatchObject({ code: 0, stderr: '' });
    expect((await onEmbedded.run(['get', 'lease', 'applied', '-n', 'going'])).stderr).toContain('NotFound');
  });

  test('frees a namespace that a finalizer of its spec holds', async () => {
    const manifest = (finalizers: string) =>
      `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"held"},"spec":{"finalizers":${finalizers}}}`;
    await onEmbedded.run(['create', '-f', '-'], { input: manifest('["example.com/mine"]') });
    await onEmbedded.run(['delete', 'namespace', 'held', '--wait=false']);
    const held = await onEmbedded.run(['get', 'namespace', 'held', '-o', 'jsonpath={.status.phase}']);
    expect(held.stdout).toBe('Terminating');
    const path = '/api/v1/namespaces/held/finalize';
    const freed = await onEmbedded.run(['replace', '--raw', path, '-f', '-'], { input: manifest('[]') });
    expect(freed).toMatchObject({ code: 0, stderr: '' });
    expect((await onEmbedded.run(['get', 'namespace', 'held'])).stderr).toContain('NotFound');
  });

  test('deletes in the foreground', async () => {
    await onEmbedded.run(['create', 'namespace', 'cascade']);
    await onEmbedded.run(['apply', '-f', '-'], { input: lease('one').replace('drill', 'cascade') });
    const gone = await onEmbedded.run([
      'delete',
      'lease',
      'applied',
      '-n',
      'cascade',
      '--cascade=foreground',
      '--timeout=20s',
    ]);
    expect(gone).toMatchObject({ code: 0, stderr: '' });
  });

  test('lets a reader read and nothing else, and says why', async () => {
    const reader = await kubectlFor(embedded.readOnlyKubeconfig);
    expect(await reader.run(['get', 'leases', '-A'])).toMatchObject({ code: 0 });
    const refused = await reader.run(['delete', 'lease', 'x', '-n', 'default']);
    expect(refused.stderr).toContain(
      'User "reader" cannot delete resource "leases" in API group "coordination.k8s.io"',
    );
    expect((await reader.run(['auth', 'can-i', 'delete', 'leases'])).stdout.trim()).toBe('no');
    expect((await reader.run(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'])).stdout).toBe(
      'reader',
    );
    await reader.remove();
  });

  test('finds everything again after the server was killed', async () => {
    await onEmbedded.run(['create', 'namespace', 'kept']);
    await onEmbedded.run(['apply', '-f', '-'], { input: lease('one').replace('drill', 'kept') });
    const before = await onEmbedded.run(['get', 'lease', 'applied', '-n', 'kept', '-o', 'yaml']);
    await embedded.restart();
    expect(await onEmbedded.run(['get', 'lease', 'applied', '-n', 'kept', '-o', 'yaml'])).toEqual(before);
  });
});
