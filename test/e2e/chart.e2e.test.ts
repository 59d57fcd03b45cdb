import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { version } from '../../src/support/host.ts';
import type { JsonSchema } from '../chart/json-schema.ts';
import {
  keyOf,
  kustomizeBase,
  monitoringBase,
  plainManifest,
  sorted,
  sortedYaml,
} from '../chart/plain-manifests.ts';
import { valuesOf } from '../chart/values-arbitrary.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import {
  coordinatorLease,
  createCandidate,
  createNamespaces,
  readLease,
} from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { freePorts } from '../control-plane/free-port.ts';
import { startSimCandidates } from '../control-plane/sim-candidate.ts';
import { blocksIn } from '../support/command-blocks.ts';
import { type AuditLog, prepareAuditLog } from './audit-log.ts';
import {
  containerOf,
  deploymentIn,
  type RunningContainer,
  readArguments,
  runContainer,
} from './chart-deployment.ts';
import { eventually } from './coordinator.ts';
import { builtIn, coordinatorTurns, lateWrites, overlaps } from './coordinator-turns.ts';
import { type ChartObject, chartFolder, type Helm, objectsIn, release, startHelm } from './helm.ts';
import { type Kubectl, kubectlFor } from './kubectl.ts';
import { permissionsOf, type RbacObject } from './permissions.ts';

const repository = new URL('../../', import.meta.url).pathname;
const schema = JSON.parse(await readFile(join(chartFolder, 'values.schema.json'), 'utf8')) as JsonSchema;

const ourIdentity = /^coordinated-leader-election_/;

const valuesFolder = join(repository, 'test/chart/values');
const valuesFiles = (await readdir(valuesFolder)).sort();

async function valuesIn(file: string): Promise<unknown> {
  return parse(await readFile(join(valuesFolder, file), 'utf8'));
}

interface Dashboard extends ChartObject {
  readonly data: Readonly<Record<string, string>>;
}

/** What the chart renders for those who have the Prometheus operator and Grafana's sidecar. */
async function monitoringObjects(values: object) {
  const objects = await helm.render({
    ...values,
    prometheusRule: { enabled: true },
    dashboard: { enabled: true },
  });
  const rule = objects.find(({ kind }) => kind === 'PrometheusRule');
  const dashboard = objects.find(({ kind }) => kind === 'ConfigMap');
  if (!rule || !dashboard) throw new Error('the chart renders no PrometheusRule, or no dashboard');
  return { rule: rule as ChartObject & { spec: unknown }, dashboard: dashboard as Dashboard };
}

/** The dashboard and the definition of LeaseCandidates are in files of their own, and too long to be read here. */
function abridged(object: ChartObject): ChartObject {
  const { apiVersion, kind, metadata } = object;
  if (kind === 'CustomResourceDefinition') return { apiVersion, kind, metadata };
  if (kind !== 'ConfigMap') return object;
  const titles = Object.entries((object as Dashboard).data).map(([key, text]) => [
    key,
    (JSON.parse(text) as { title: string }).title,
  ]);
  return { ...object, data: Object.fromEntries(titles) } as Dashboard;
}

let helm: Helm;
beforeAll(async () => {
  helm = await startHelm();
});
afterAll(async () => {
  await helm?.remove();
});

describe('the chart', () => {
  test.for(['default values', ...valuesFiles])(
    'has nothing that helm lint --strict objects to: %s',
    async (file) => {
      const values = valuesFiles.includes(file) ? ['--values', join(valuesFolder, file)] : [];
      const { code, stdout, stderr } = await helm.run(['lint', '--strict', chartFolder, ...values]);
      expect(`${stdout}${stderr}`).not.toMatch(/ERROR|WARNING/);
      expect(code).toBe(0);
    },
  );

  test.for(valuesFiles)('renders what is kept in test/chart/rendered: %s', async (file) => {
    const objects = await helm.render(await valuesIn(file));
    await expect(sortedYaml(objects.map(abridged))).toMatchFileSnapshot(
      join(repository, 'test/chart/rendered', file),
    );
  });

  test.for([
    { name: 'a value that it does not have', values: { replicas: 2 }, want: "'replicas' not allowed" },
    {
      name: 'a setting that the program does not have',
      values: { config: { pace: 1 } },
      want: "'pace' not allowed",
    },
    { name: 'a number in words', values: { replicaCount: 'two' }, want: 'got string, want integer' },
    {
      name: 'a duration without a unit',
      values: { config: { leaseDuration: '10' } },
      want: 'does not match pattern',
    },
    { name: 'a root user', values: { podSecurityContext: { runAsUser: 0 } }, want: 'minimum' },
    {
      name: 'leave to be root',
      values: { podSecurityContext: { runAsNonRoot: false } },
      want: 'must be true',
    },
    {
      name: 'no word on root',
      values: { podSecurityContext: { runAsNonRoot: null } },
      want: "missing property 'runAsNonRoot'",
    },
    {
      name: 'no word on security at all',
      values: { podSecurityContext: null },
      want: "missing property 'podSecurityContext'",
    },
    { name: 'a part that is nothing', values: { image: null }, want: "missing property 'image'" },
    {
      name: 'an image of no name',
      values: { image: { repository: null } },
      want: "missing property 'repository'",
    },
    {
      name: 'a tag in the name of the image',
      values: { image: { repository: 'registry.example:5000/cle:0.1.0' } },
      want: '/image/repository',
    },
    {
      name: 'a privileged container',
      values: { securityContext: { privileged: true } },
      want: "'privileged' not allowed",
    },
    {
      name: 'a capability',
      values: { securityContext: { capabilities: { add: ['NET_ADMIN'] } } },
      want: "'add' not allowed",
    },
    {
      name: 'a path of the node',
      values: { volumes: [{ name: 'host', hostPath: { path: '/' } }] },
      want: '/volumes/0',
    },
    {
      name: 'an update without a pod to spare',
      values: { updateStrategy: { maxSurge: 0 } },
      want: '/updateStrategy/maxSurge',
    },
  ])('refuses $name', async ({ values, want }) => {
    const refusal = await helm.render(values).catch((error: Error) => error.message);
    expect(refusal).toContain(want);
  });

  test.for([true, false])('is a part of another chart on its condition: %s', async (enabled) => {
    const whole = await mkdtemp(join(tmpdir(), 'whole-chart-'));
    onTestFinished(() => rm(whole, { recursive: true }));
    const part = { name: release.name, version, alias: 'elector', condition: 'elector.enabled' };
    const chart = { apiVersion: 'v2', name: 'whole', version: '1.0.0', dependencies: [part] };
    await writeFile(join(whole, 'Chart.yaml'), stringify(chart));
    await cp(chartFolder, join(whole, 'charts', release.name), { recursive: true });
    const { stdout, stderr } = await helm.run(
      ['template', 'platform', whole, '--values', '-'],
      JSON.stringify({ global: { imageRegistry: 'registry.example.com' }, elector: { enabled } }),
    );
    expect(stderr).toBe('');
    expect(objectsIn(stdout).some(({ kind }) => kind === 'Deployment')).toBe(enabled);
  });

  test('has the alerts as they are, but for where their runbooks are', async () => {
    const file = await readFile(join(chartFolder, 'files/alerts.yaml'), 'utf8');
    const { rule } = await monitoringObjects({ runbookBaseUrl: 'https://example.com/books/' });
    const want = file.replaceAll('runbook_url: docs/runbooks/', 'runbook_url: https://example.com/books/');
    expect(want).not.toBe(file);
    expect(rule.spec).toEqual(parse(want));
  });

  test('has the dashboard as it is, but for where its runbooks are', async () => {
    const file = await readFile(join(chartFolder, 'files/dashboard.json'), 'utf8');
    const { dashboard } = await monitoringObjects({ runbookBaseUrl: 'https://example.com/books/' });
    const want = file.replace('"docs/runbooks"', '"https://example.com/books"');
    expect(want).not.toBe(file);
    expect(dashboard.data).toEqual({ 'coordinated-leader-election.json': want.trimEnd() });
    expect(dashboard.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
  });

  test('has the definition of deploy/crd.yaml, to be kept unless it is told otherwise', async () => {
    const [file] = objectsIn(await readFile(join(repository, 'deploy/crd.yaml'), 'utf8'));
    const definitionFor = async (crds: object) => {
      const objects = await helm.render({ crds });
      return objects.find(({ kind }) => kind === 'CustomResourceDefinition');
    };
    const definition = await definitionFor({});
    expect({ ...definition, metadata: { name: definition?.metadata.name } }).toEqual(file);
    expect(definition?.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    expect((await definitionFor({ keep: false }))?.metadata.annotations).toBeUndefined();
    expect(await definitionFor({ install: false })).toBeUndefined();
  });

  test('asks for CPU and memory for its test as for its pods, which a ResourceQuota may insist on', async () => {
    const { stdout } = await helm.run(['template', release.name, chartFolder]);
    const objects = objectsIn(stdout);
    const testPod = objects.find(({ kind }) => kind === 'Pod');
    const { resources } = containerOf(deploymentIn(objects));
    expect(resources).toMatchObject({ requests: {}, limits: {} });
    expect(testPod).toMatchObject({ spec: { containers: [{ resources }] } });
  });

  test('lets its own test connect, whoever else may not', async () => {
    const from = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
    const { stdout } = await helm.run(
      ['template', release.name, chartFolder, '--values', '-'],
      JSON.stringify({ networkPolicy: { enabled: true, from } }),
    );
    const objects = objectsIn(stdout);
    const testPod = objects.find(({ kind }) => kind === 'Pod');
    const policy = objects.find(({ kind }) => kind === 'NetworkPolicy');
    const name = testPod?.metadata.labels?.['app.kubernetes.io/name'];
    expect(policy).toMatchObject({
      spec: {
        ingress: [{ from: [...from, { podSelector: { matchLabels: { 'app.kubernetes.io/name': name } } }] }],
      },
    });
    // And the Service does not lead to it.
    expect(name).not.toBe(deploymentIn(objects).metadata.labels?.['app.kubernetes.io/name']);
  });

  test('allows what deploy/rbac.yaml allows, no more and no less', async () => {
    const known = objectsIn(
      await readFile(join(repository, 'deploy/rbac.yaml'), 'utf8'),
    ) as readonly RbacObject[];
    expect(permissionsOf((await helm.render({})) as readonly RbacObject[])).toEqual(permissionsOf(known));
  });

  test('allows the same in the namespaces that it is limited to, and has nothing cluster-wide', async () => {
    const namespaces = ['team-a', 'team-b'];
    const everywhere = permissionsOf((await helm.render({})) as readonly RbacObject[]);
    const limited = (await helm.render({ namespaces })) as readonly RbacObject[];
    const want = everywhere.flatMap((permission) =>
      permission.includes('in all namespaces')
        ? namespaces.map((namespace) => permission.replace('in all namespaces', `in ${namespace}`))
        : [permission],
    );
    expect(permissionsOf(limited)).toEqual(want.sort());
    expect(limited.filter(({ kind }) => kind.startsWith('Cluster'))).toEqual([]);
  });
});

describe('what helm prints after an install', () => {
  async function notes(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await helm.run([
      'install',
      ...[release.name, chartFolder, '--namespace', release.namespace],
      ...args,
    ]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    return stdout.slice(stdout.indexOf('NOTES:'));
  }

  test.for([
    ['1.36.3', true, 'off'],
    ['1.36.3', false, 'on'],
    // Another release has installed the definition.
    ['1.36.3', false, 'off'],
    ['1.32.13', false, 'on'],
    ['1.31.4', true, 'off'],
    ['1.31.4', false, 'on'],
  ] as const)(
    'has a LeaseCandidate that Kubernetes takes: %s, crds.install=%s, the feature gate is %s',
    async ([version, isDefined, gate]) => {
      const hasGate = gate === 'on';
      const plane = await startControlPlane({ version, coordinatedLeaderElection: hasGate });
      onTestFinished(() => plane.stop());
      const kubectl = await kubectlFor(plane.kubeconfig);
      onTestFinished(() => kubectl.remove());
      const crds = ['--set', `crds.install=${isDefined}`];
      const text = await notes('--dry-run=server', '--kubeconfig', plane.kubeconfig, ...crds);
      // There is a built-in controller where the gate is on.
      expect(text.includes('built-in controller')).toBe(hasGate);
      expect(text.includes('there are no elections for at least 15 s')).toBe(hasGate);
      if (!hasGate) await installCandidateResource(plane);
      const [, candidate = ''] = /<<EOF\n(.*)\nEOF\n/s.exec(text) ?? [];
      const input = candidate.replace(/\$\(date .*\)/, '2026-11-21T00:00:00.000000Z');
      const { code, stderr } = await kubectl.run(['create', '--dry-run=server', '--filename', '-'], {
        input,
      });
      expect(stderr.replace(/^Warning: .* is deprecated .*$/m, '').trim()).toBe('');
      expect(code).toBe(0);
    },
  );

  test('waits for no election in a dry run', async () => {
    const text = await notes('--dry-run=client', '--set', 'config.dryRun=true');
    expect(text).toContain("grep 'Would act'");
    expect(text).not.toContain('first-election');
  });

  test('says that other namespaces have no elections', async () => {
    const text = await notes('--dry-run=client', '--set', 'namespaces={team-a,team-b}');
    expect(text).toContain(
      'elects leaders in team-a, team-b. A cluster has one coordinator, so other namespaces',
    );
  });
});

describe('deploy/, made from the chart', () => {
  /** The definition is in deploy/crd.yaml alone: nobody who deletes the rest is to lose all candidates. */
  const plainValues = { crds: { install: false } };
  const base = join(repository, 'deploy/base');
  const monitoring = join(repository, 'deploy/monitoring');

  test('has the plain manifests', async () => {
    const manifest = plainManifest(await helm.render(plainValues));
    await expect(manifest).toMatchFileSnapshot(join(repository, 'deploy/coordinator.yaml'));
  });

  test('has the kustomize base', async () => {
    const files = kustomizeBase(await helm.render(plainValues));
    for (const [name, text] of Object.entries(files)) {
      await expect(text).toMatchFileSnapshot(join(base, name));
    }
    expect((await readdir(base)).sort()).toEqual(Object.keys(files).sort());
  });

  test('has a kustomize base with the alerts and the dashboard', async () => {
    const { rule, dashboard } = await monitoringObjects({});
    const files = monitoringBase(rule, dashboard);
    for (const [name, text] of Object.entries(files)) {
      await expect(text).toMatchFileSnapshot(join(monitoring, name));
    }
    const beside = ['alerts.yaml', 'dashboard.json'];
    expect((await readdir(monitoring)).sort()).toEqual([...beside, ...Object.keys(files)].sort());
    const kubectl = await kubectlFor('');
    onTestFinished(() => kubectl.remove());
    const { stdout, stderr } = await kubectl.run(['kustomize', monitoring]);
    expect(stderr).toBe('');
    const [, made] = sorted(objectsIn(stdout)) as readonly [ChartObject, Dashboard];
    const [, plain] = objectsIn(plainManifest([rule, dashboard])) as readonly [ChartObject, Dashboard];
    expect(made.metadata).toEqual(plain.metadata);
    expect(made.data).toEqual(plain.data);
  });

  test('has a kustomize base that the overlay of docs/how-to/install.md brings where the chart would be', async () => {
    const guide = await readFile(join(repository, 'docs/how-to/install.md'), 'utf8');
    const overlay = blocksIn(guide).find(({ heading }) => heading === 'Without Helm')?.text ?? '';
    const folder = await mkdtemp(join(tmpdir(), 'overlay-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const kustomization = overlay.replace(
      '../coordinated-leader-election/deploy/base',
      relative(folder, base),
    );
    await writeFile(join(folder, 'kustomization.yaml'), kustomization);
    const kubectl = await kubectlFor('');
    onTestFinished(() => kubectl.remove());
    const { stdout, stderr } = await kubectl.run(['kustomize', folder]);
    expect(stderr).toBe('');
    const chart = await helm.run([
      'template',
      ...[release.name, chartFolder, '--skip-tests', '--namespace', 'leader-election'],
      ...['--set', `crds.install=false,image.repository=registry.example.com/${release.name}`],
    ]);
    const want = objectsIn(plainManifest(objectsIn(chart.stdout)));
    expect(sorted(objectsIn(stdout))).toEqual(sorted(want));
  });

  test('has a kustomize base that comes to the plain manifests', async () => {
    const kubectl = await kubectlFor('');
    onTestFinished(() => kubectl.remove());
    const { stdout, stderr } = await kubectl.run(['kustomize', base]);
    const plain = objectsIn(await readFile(join(repository, 'deploy/coordinator.yaml'), 'utf8'));
    expect(stderr).toBe('');
    expect(sorted(objectsIn(stdout))).toEqual(sorted(plain));
  });
});

describe('on a real kube-apiserver', () => {
  let audit: AuditLog;
  let plane: ControlPlane;
  let kubectl: Kubectl;

  /** A namespace whose pods are held to the restricted Pod Security Standard. */
  const restricted = 'restricted';

  beforeAll(async () => {
    audit = await prepareAuditLog();
    plane = await startControlPlane({ extraApiServerArgs: audit.apiServerArgs });
    kubectl = await kubectlFor(plane.kubeconfig);
    await createNamespaces(plane, 'team-a', 'team-b', '1st-team');
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await plane.request('POST', '/api/v1/namespaces', { metadata: { name: restricted, labels } });
    for (const kind of ['ServiceMonitor', 'PodMonitor', 'PrometheusRule']) {
      await plane.request(
        'POST',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
        monitorDefinition(kind),
      );
    }
  });

  afterAll(async () => {
    await kubectl?.remove();
    await plane?.stop();
    await audit?.remove();
  });

  async function applied(objects: readonly ChartObject[]): Promise<string> {
    const { code, stdout, stderr } = await kubectl.run(['apply', '--server-side', '--filename', '-'], {
      input: sortedYaml(objects),
    });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    return stdout;
  }

  test.for(valuesFiles)('is taken by server-side apply without a warning: %s', async (file) => {
    const objects = await helm.render(await valuesIn(file));
    // The definitions of the monitors may have been accepted, but not be served yet.
    await kubectl.run(['wait', '--for=condition=Established', 'customresourcedefinitions', '--all']);
    const result = await applied(objects);
    expect(result.trim().split('\n')).toHaveLength(objects.length);
    await kubectl.run(['delete', '--wait=false', '--filename', '-'], { input: sortedYaml(objects) });
  });

  test.for([
    { what: 'a name with dots', name: 'leader.election' },
    { what: 'the longest name', name: 'x'.repeat(53) },
    // As Flux makes them of the revisions of a repository.
    { what: 'a version with build metadata', chartVersion: `${version}+5b1c2d3e4f5a` },
  ])('is taken with its test under $what', async ({ name = release.name, chartVersion = version }) => {
    const folder = await mkdtemp(join(tmpdir(), 'packaged-chart-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await helm.run(['package', chartFolder, '--version', chartVersion, '--destination', folder]);
    const packaged = join(folder, `coordinated-leader-election-${chartVersion}.tgz`);
    const { stdout: rendered } = await helm.run(['template', name, packaged, '--namespace', 'team-a']);
    const { code, stderr } = await kubectl.run(
      ['apply', '--server-side', '--dry-run=server', '--filename', '-'],
      { input: rendered },
    );
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  /** What the server says to the Deployment's pod, where the restricted standard is enforced. */
  async function createPod(objects: readonly ChartObject[]): Promise<unknown> {
    const { template } = deploymentIn(objects).spec;
    const pod = { ...template, metadata: { ...template.metadata, name: 'pod' } };
    return plane.request('POST', `/api/v1/namespaces/${restricted}/pods?dryRun=All`, pod);
  }

  test('has nobody who would let a pod that is not restricted into that namespace', async () => {
    const pod = { metadata: { name: 'pod' }, spec: { containers: [{ name: 'free', image: 'free' }] } };
    const path = `/api/v1/namespaces/${restricted}/pods?dryRun=All`;
    await expect(plane.request('POST', path, pod)).rejects.toThrow('violates PodSecurity');
  });

  test('holds for whatever the schema allows: valid, restricted, unambiguous, and understood by the program', async () => {
    await fc.assert(
      fc.asyncProperty(ownValues, async (values) => {
        const objects = await helm.render(values);
        expect(new Set(objects.map(keyOf)).size).toBe(objects.length);
        await createPod(objects);
        const container = containerOf(deploymentIn(objects));
        const { settings, complaint } = await readArguments(container);
        // Durations that are each fine need not go together; only the program says so.
        if (settings === undefined)
          expect(complaint).toMatch(/must be (?:shorter than|at least twice|longer than) --/);
        else expect(settings.listen?.port).toBe(container.ports[0]?.containerPort);
      }),
      { numRuns: 60 },
    );
  });

  describe('its pods', () => {
    /** The oldest first. */
    const pods: RunningContainer[] = [];

    beforeAll(async () => {
      await applied(await helm.render({}));
      await startPod({});
      await startPod({});
      const isActive = async () => {
        const pages = await Promise.all(pods.map((pod) => pod.get('/readyz')));
        return pages.some((page) => page?.body.includes('coordinator-lock ok')) ? true : undefined;
      };
      await eventually(isActive, 'one of the pods is active', 60_000);
      expect((await readLease(plane, coordinatorLease))?.spec.holderIdentity).toMatch(ourIdentity);
    });

    afterAll(async () => {
      await Promise.all(pods.map((pod) => pod.stop()));
    });

    /** Runs what the Deployment says as a process, until its probes are content. */
    async function startPod(config: Readonly<Record<string, unknown>>): Promise<void> {
      const [containerPort = 0] = await freePorts(1);
      const objects = await helm.render({
        // Pods have addresses of their own; here they need ports of their own.
        containerPort,
        // Left to the variable, which thereby shows that variables arrive.
        config: { ...config, leaseDuration: null },
        extraEnv: [{ name: 'CLE_LEASE_DURATION', value: '15s' }],
      });
      const deployment = deploymentIn(objects);
      const { namespace } = release;
      const name = deployment.spec.template.spec.serviceAccountName;
      const kubeconfig = await plane.kubeconfigFor({ serviceAccount: { namespace, name } });
      const container = containerOf(deployment);
      const pod = runContainer(container, kubeconfig);
      pods.push(pod);
      const { livenessProbe, readinessProbe } = container;
      for (const { httpGet } of [livenessProbe, readinessProbe]) {
        const isContent = async () => ((await pod.get(httpGet.path))?.status === 200 ? true : undefined);
        await eventually(isContent, `${httpGet.path} of a pod`);
      }
    }

    test('elect, with the arguments, variables and rights that they are given', async () => {
      const candidates = await startSimCandidates(plane);
      onTestFinished(() => candidates.stop());
      await candidates.start({ namespace: 'team-a', lease: 'web', name: 'first', binaryVersion: '1.36.0' });
      const elected = () => readLease(plane, { namespace: 'team-a', name: 'web' });
      const { spec } = await eventually(elected, 'the first election');
      expect(spec).toMatchObject({ holderIdentity: 'first', leaseDurationSeconds: 15 });
      expect(pods.map((pod) => pod.output()).join('')).not.toMatch(/"level":"(?:error|fatal)"/);
    });

    test('are upgraded and rolled back without a moment of two coordinators', async () => {
      const { strategy } = deploymentIn(await helm.render({})).spec;
      const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
      expect(strategy).toEqual({ type: 'RollingUpdate', rollingUpdate });
      const since = performance.timeOrigin + performance.now();
      for (const [step, workers] of [16, 16, 32, 32].entries()) {
        await startPod({ workers });
        expect(await pods.shift()?.stop()).toBe(0);
        const lease = { namespace: 'team-b', name: `upgrade-${step}` };
        await createCandidate(plane, { namespace: 'team-b', lease: lease.name, name: lease.name });
        await eventually(() => readLease(plane, lease), `${lease.name} is held`);
      }

      const { turns } = coordinatorTurns(await audit.requests());
      expect(overlaps(turns)).toEqual([]);
      expect(turns.filter(({ client }) => client !== builtIn).flatMap(lateWrites)).toEqual([]);
      const rolled = turns.filter(({ until }) => until > since);
      expect(rolled.length).toBeGreaterThanOrEqual(2);
      for (const [index, { until }] of rolled.entries()) {
        const next = rolled[index + 1];
        if (next) expect(next.from - until).toBeLessThan(2_000);
      }
      expect((await readLease(plane, coordinatorLease))?.spec.holderIdentity).toMatch(ourIdentity);
    });
  });
});

/**
 * Values that the schema allows, without those whose parts have to fit one another or the cluster: the API server's own
 * rules for them are not the chart's.
 */
const ownValues = valuesOf({
  ...schema,
  properties: Object.fromEntries(
    Object.entries(schema.properties ?? {}).filter(
      ([name]) =>
        ![
          'affinity',
          'extraEnv',
          'priorityClassName',
          'resources',
          'topologySpreadConstraints',
          'volumeMounts',
          'volumes',
        ].includes(name),
    ),
  ),
});

/** Stands for the Prometheus operator's definition of a kind, and takes whatever fields it has. */
function monitorDefinition(kind: string): unknown {
  const group = 'monitoring.coreos.com';
  const plural = `${kind.toLowerCase()}s`;
  const schemas = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural },
      versions: [{ name: 'v1', served: true, storage: true, schema: schemas }],
    },
  };
}
