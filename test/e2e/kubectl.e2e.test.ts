import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { keepCoordinatorAway } from '../conformance/real-target.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { type EmbeddedPlane, startEmbeddedPlane } from '../control-plane/embedded-plane.ts';
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

/** Values that differ between two servers: random values, times and addresses. */
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

/** The exit code, the reason and the invalid fields of a failure. Each server has its own messages. */
function withoutProse(output: string): readonly string[] {
  const facts =
    /^exit \d+|Error from server \(\w+\)|Apply failed with \d+ conflicts?|is invalid|^\* [\w.<>]+: [A-Z]\w+ value/gm;
  return output.match(facts) ?? [];
}

async function onBoth(args: readonly string[], options: Parameters<Kubectl['run']>[1] = {}) {
  const [wanted, got] = await Promise.all([onReal.run(args, options), onEmbedded.run(args, options)]);
  return { wanted: normalized(wanted, real), got: normalized(got, embedded), code: got.code };
}

// In this order, because each uses the state that the last one left.
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

  test('edit, with any editor', async () => {
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
