import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { showDiagnosis } from '../../src/cli/doctor.ts';
import { showExplanation } from '../../src/cli/explain.ts';
import { showPlan } from '../../src/cli/plan.ts';
import { showStatus } from '../../src/cli/status.ts';
import type { Host } from '../../src/support/host.ts';
import {
  type LookingSite,
  lookingSettings,
  makeLookingHost,
  startLookingSite,
  timeAt,
} from './looking-site.ts';

const STRATEGY = 'OldestEmulationVersion';
let site: LookingSite;

beforeAll(async () => {
  site = await startLookingSite();
  await site.putLease('kube-system', 'scheduler', {
    holderIdentity: 'scheduler-a',
    leaseDurationSeconds: 15,
    leaseTransitions: 3,
    acquireTime: timeAt(-600),
    renewTime: timeAt(-2),
    strategy: STRATEGY,
  });
  const versions = (binaryVersion: string, emulationVersion: string) => ({ binaryVersion, emulationVersion });
  const scheduler = { leaseName: 'scheduler', renewTime: timeAt(-90) };
  await site.putCandidate('kube-system', 'scheduler-a', { ...scheduler, ...versions('1.36.0', '1.35.0') });
  await site.putCandidate('kube-system', 'scheduler-b', { ...scheduler, ...versions('1.36.0', '1.36.0') });
  await site.putCandidate('kube-system', 'scheduler-c', {
    ...scheduler,
    ...versions('1.35.0', '1.35.0'),
    pingTime: timeAt(-30),
  });
  await site.putLease('kube-system', 'controllers', { holderIdentity: '', strategy: STRATEGY });
  const controllers = { leaseName: 'controllers', renewTime: timeAt(-1), ...versions('1.36.0', '1.36.0') };
  await site.putCandidate('kube-system', 'controllers-a', controllers);
  await site.putCandidate('kube-system', 'controllers-b', { ...controllers, strategy: 'example.com/random' });
  await site.putLease('default', 'no-candidates', {
    holderIdentity: 'gone',
    strategy: STRATEGY,
    leaseDurationSeconds: 15,
    renewTime: timeAt(-3600),
  });
  await site.putLease('default', 'not-coordinated', { holderIdentity: 'somebody', leaseDurationSeconds: 15 });
});

afterAll(() => site.stop());

async function look(
  run: (host: Host) => Promise<number>,
  options: Parameters<typeof makeLookingHost>[0] = {},
) {
  const host = makeLookingHost(options);
  const code = await run(host);
  return { code, ...host.said };
}

const settings = () => lookingSettings(site.kubeconfig);
const unplanned = { priority: [], rollout: undefined };
const status =
  (more: Partial<Parameters<typeof showStatus>[0]> = {}) =>
  (host: Host) =>
    showStatus({ ...settings(), allNamespaces: true, watch: false, ...more }, host);

describe('the output', () => {
  test.each([
    { file: 'status', run: status(), terminal: {} },
    { file: 'status-wide', run: status({ output: 'wide' }), terminal: {} },
    { file: 'status-yaml', run: status({ output: 'yaml' }), terminal: {} },
    { file: 'status-colours', run: status(), terminal: { columns: 200 } },
    { file: 'status-no-colour', run: status(), terminal: { columns: 200, env: { NO_COLOR: '1' } } },
    {
      file: 'explain',
      run: (host: Host) => showExplanation('scheduler', { ...settings(), namespace: 'kube-system' }, host),
      terminal: {},
    },
    {
      file: 'explain-narrow',
      run: (host: Host) => showExplanation('scheduler', { ...settings(), namespace: 'kube-system' }, host),
      terminal: { columns: 60, env: { NO_COLOR: '1' } },
    },
    {
      file: 'explain',
      run: (host: Host) => showExplanation('scheduler', { ...settings(), namespace: 'kube-system' }, host),
      terminal: { columns: 0, env: { NO_COLOR: '1' } },
    },
    {
      file: 'explain-conflict',
      run: (host: Host) => showExplanation('controllers', { ...settings(), namespace: 'kube-system' }, host),
      terminal: {},
    },
    {
      file: 'plan-upgrade',
      run: (host: Host) =>
        showPlan(
          'scheduler',
          {
            ...settings(),
            namespace: 'kube-system',
            add: ['scheduler-d=1.37.0/1.34.0'],
            remove: ['scheduler-a'],
            ...unplanned,
          },
          host,
        ),
      terminal: {},
    },
    {
      file: 'plan-priority',
      run: (host: Host) =>
        showPlan(
          'scheduler',
          {
            ...{ ...settings(), namespace: 'kube-system', add: [], remove: [], file: [] },
            ...{ priority: ['scheduler-b=100'], rollout: undefined },
          },
          host,
        ),
      terminal: {},
    },
    {
      file: 'plan-rollout',
      run: (host: Host) =>
        showPlan(
          'scheduler',
          {
            ...{ ...settings(), namespace: 'kube-system', add: [], remove: [], file: [] },
            ...{ priority: [], rollout: 'scheduler=1.37.0/1.36.0' },
          },
          host,
        ),
      terminal: {},
    },
  ])('matches $file.txt', async ({ file, run, terminal }) => {
    const { code, out, err } = await look(run, terminal);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    await expect(out).toMatchFileSnapshot(`outputs/${file}.txt`);
  });

  test('is readable for scripts with -o json', async () => {
    const { out } = await look(status({ output: 'json' }));
    expect(JSON.parse(out).items).toMatchObject([
      { name: 'no-candidates', reason: 'NoCandidates', isHeld: false },
      { name: 'controllers', reason: 'StrategyConflict', candidates: { Live: 2 } },
      { name: 'scheduler', reason: 'LeaderOptimal', holder: 'scheduler-a' },
    ]);
  });
});

describe('status', () => {
  const candidate = { leaseName: 'x', binaryVersion: '1.0.0', emulationVersion: '1.0.0' };

  /** Starts `status --watch` on an empty site. */
  async function startWatching() {
    const watched = await startLookingSite();
    onTestFinished(() => watched.stop());
    const host = makeLookingHost();
    const watching = { ...lookingSettings(watched.kubeconfig), allNamespaces: true, watch: true };
    return { watched, host, ended: showStatus(watching, host) };
  }

  test('uses the namespace of the context, and mentions the other namespaces', async () => {
    const { code, out, err } = await look(status({ allNamespaces: false, namespace: 'kube-public' }));
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toBe('No coordinated Leases found in kube-public namespace; -A looks into all of them.\n');
  });

  test('shows only changed Leases again, with --watch', async () => {
    const { watched, host, ended } = await startWatching();
    await watched.putCandidate('default', 'x-1', candidate);
    await vi.waitFor(() => expect(host.said.out).toMatch(/ x .*1 Idle/), 20_000);
    await watched.putCandidate('default', 'x-2', candidate);
    await vi.waitFor(() => expect(host.said.out).toMatch(/ x .*2 Idle/), 20_000);
    host.stop();
    expect(await ended).toBe(0);
    expect(host.said.out.trimEnd().split('\n')).toHaveLength(3);
  });

  test('shows with --watch that a candidate does not answer a ping that was sent later', async () => {
    const { watched, host, ended } = await startWatching();
    await watched.putCandidate('default', 'x-1', { ...candidate, renewTime: timeAt(-60) });
    await vi.waitFor(() => expect(host.said.out).toMatch(/ x .*1 Idle/), 20_000);
    await watched.ping('default', 'x-1', timeAt(-10));
    await vi.waitFor(() => expect(host.said.out).toMatch(/ x .*1 Unresponsive/), 20_000);
    host.stop();
    expect(await ended).toBe(0);
  });

  test('shows what the user may list of two sources of candidates, with a warning, once and with --watch', async () => {
    const native = { ...lookingSettings(site.nativeKubeconfig), allNamespaces: true };
    const once = await look((host) => showStatus({ ...native, watch: false }, host));
    const host = makeLookingHost();
    const ended = showStatus({ ...native, watch: true }, host);
    await vi.waitFor(() => expect(host.said.out).toContain('controllers'), 20_000);
    host.stop();
    expect([once.code, await ended]).toEqual([0, 0]);
    for (const err of [once.err, host.said.err])
      expect(err).toMatch(
        /^warning: you may not list leasecandidates of coordinated-leader-election.dev.*\n$/,
      );
    const names = (out: string) => out.split('\n').map((line) => line.split(/ +/, 2));
    expect(names(host.said.out)).toEqual(names(once.out));
  });
});

describe('priorities (rule 16)', () => {
  const PRIORITY = 'coordinated-leader-election.dev/priority';
  const UNTIL = 'coordinated-leader-election.dev/priority-until';
  const candidate = { leaseName: 'x', binaryVersion: '1.36.0', emulationVersion: '1.36.0' };

  async function startDrainedSite(): Promise<LookingSite> {
    const drained = await startLookingSite();
    onTestFinished(() => drained.stop());
    const spec = { ...candidate, renewTime: timeAt(-90) };
    const times = { leaseDurationSeconds: 15, renewTime: timeAt(-2) };
    await drained.putLease('default', 'x', { holderIdentity: 'x-2', strategy: STRATEGY, ...times });
    const drain = { [PRIORITY]: '-1000', [UNTIL]: timeAt(3600) };
    await drained.putCandidate('default', 'x-1', { ...spec, binaryVersion: '1.36.0' }, drain);
    await drained.putCandidate('default', 'x-2', { ...spec, binaryVersion: '1.37.0' });
    await drained.putCandidate('default', 'x-3', { ...spec, binaryVersion: '1.38.0' }, { [PRIORITY]: 'low' });
    await drained.putCandidate('default', 'x-4', spec, { [PRIORITY]: '-5', [UNTIL]: timeAt(-10) });
    return drained;
  }

  test('are shown by status, explained by explain, and checked by doctor', async () => {
    const drained = lookingSettings((await startDrainedSite()).kubeconfig);
    const shown = await look((host) => showStatus({ ...drained, allNamespaces: true, watch: false }, host));
    await expect(shown.out).toMatchFileSnapshot('outputs/status-priorities.txt');
    const explained = await look((host) => showExplanation('x', drained, host));
    await expect(explained.out).toMatchFileSnapshot('outputs/explain-priorities.txt');
    const { out } = await look((host) => showDiagnosis({ ...drained, output: 'json' }, host));
    const findings: readonly { check: string; severity: string; what: string }[] = JSON.parse(out).findings;
    expect(findings.filter(({ check }) => check === 'Priorities')).toMatchObject([
      { severity: 'warning', what: `default/x-3: ${PRIORITY}: "low" cannot be read.` },
      {
        severity: 'ok',
        what: '1 candidate with a priority: default/x-1 -1000 until 2026-01-01T01:00:00Z.',
      },
      {
        severity: 'ok',
        what: 'default/x-4: the priority has ended. undrain removes the annotations that drain and transfer have left.',
      },
    ]);
  });

  test('have a column from the start with --watch, because one may be set later', async () => {
    const watched = await startLookingSite();
    onTestFinished(() => watched.stop());
    const host = makeLookingHost();
    const watching = { ...lookingSettings(watched.kubeconfig), allNamespaces: true, watch: true };
    const ended = showStatus(watching, host);
    await watched.putCandidate('default', 'x-1', candidate);
    await vi.waitFor(() => expect(host.said.out).toMatch(/ x .*1 Idle +-/), 20_000);
    await watched.putCandidate('default', 'x-2', candidate, { [PRIORITY]: '7' });
    await vi.waitFor(() => expect(host.said.out).toMatch(/ x .*2 Idle +1 at 7/), 20_000);
    host.stop();
    expect(await ended).toBe(0);
    expect(host.said.out.match(/NAMESPACE/g)).toHaveLength(1);
    expect(host.said.out.match(/PRIORITY/g)).toHaveLength(1);
  });
});

describe('a wrong clock', () => {
  test.each([
    { aheadSeconds: 300, want: "s ahead of the server's" },
    { aheadSeconds: -300, want: "s behind the server's" },
  ])('by $aheadSeconds s does not make a leader look dead', async ({ aheadSeconds, want }) => {
    const { out, err } = await look(status({ output: 'json' }), { aheadSeconds });
    expect(JSON.parse(out).items.at(-1)).toMatchObject({ name: 'scheduler', isHeld: true });
    expect(err).toContain(want);
    const examined = await look((host) => showDiagnosis({ ...settings(), output: 'json' }, host), {
      aheadSeconds,
    });
    const findings = JSON.parse(examined.out).findings;
    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'Clocks', what: expect.stringContaining(want) }),
    );
  });
});

test('is reported if a holder renewed in the future', async () => {
  const early = await startLookingSite();
  onTestFinished(() => early.stop());
  const spec = { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: timeAt(3600) };
  await early.putLease('default', 'x', spec);
  const { out } = await look((host) => showExplanation('x', lookingSettings(early.kubeconfig), host));
  expect(out).toContain('a (renewed at a time in the future, expires in 15s)');
});

test.each([
  { name: 'fence.coordinated-leader-election.dev', seconds: 60, want: 'fenced' },
  { name: 'a', seconds: 1, want: 'expired' },
])('is explained as $want, if it does not lead', async ({ name, seconds, want }) => {
  const site = await startLookingSite();
  onTestFinished(() => site.stop());
  const times = { renewTime: timeAt(-3), acquireTime: timeAt(-30) };
  const spec = { holderIdentity: name, leaseDurationSeconds: seconds, strategy: STRATEGY, ...times };
  await site.putLease('default', 'x', spec);
  const { out } = await look((host) => showExplanation('x', lookingSettings(site.kubeconfig), host));
  expect(out).toContain(`${name} (renewed 3s ago, ${want})`);
});

describe('a name with terminal escape sequences', () => {
  test('is shown without effect', async () => {
    const odd = await startLookingSite();
    onTestFinished(() => odd.stop());
    const holderIdentity = 'a\u001b[31m\nb\u009b2J';
    await odd.putLease('default', 'x', { holderIdentity, strategy: STRATEGY, leaseDurationSeconds: 15 });
    const candidate = { leaseName: 'x', binaryVersion: '1.0.0', emulationVersion: '1.0.0' };
    await odd.putCandidate('default', 'x-1', candidate);
    const all = lookingSettings(odd.kubeconfig);
    const shown = await Promise.all([
      look((host) => showStatus({ ...all, allNamespaces: true, watch: false }, host)),
      look((host) => showExplanation('x', all, host)),
      look((host) => showPlan('x', { ...all, add: [], remove: ['x-1'], ...unplanned }, host)),
    ]);
    for (const { out } of shown) {
      expect(out).toContain('a^[[31m^Jb\\x9b2J');
      expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    }
  });
});

describe('explain', () => {
  test.each([
    { name: 'scheduler', want: 'there is one with -n kube-system' },
    { name: 'nothing', want: 'status -A lists all Leases with candidates, and audit -A lists every Lease' },
    { name: 'a,b=c', want: 'status -A lists all Leases with candidates, and audit -A lists every Lease' },
  ])('mentions the place of $name', async ({ name, want }) => {
    const looking = showExplanation(name, settings(), makeLookingHost());
    await expect(looking).rejects.toThrow(`there is no Lease ${name} in namespace default`);
    await expect(looking).rejects.toThrow(want);
  });
});

test.each([
  { about: 'has no candidates', candidates: [] },
  { about: 'has only candidates that have expired', candidates: ['x-1', 'x-2'] },
])('explain does not report a conflict for a Lease that $about', async ({ candidates }) => {
  const quiet = await startLookingSite();
  onTestFinished(() => quiet.stop());
  const spec = { holderIdentity: 'x-1', leaseDurationSeconds: 15, renewTime: timeAt(-7200) };
  await quiet.putLease('default', 'x', spec);
  for (const name of candidates) {
    const versions = { binaryVersion: '1.0.0', emulationVersion: '1.0.0' };
    const candidate = { leaseName: 'x', ...versions, strategy: STRATEGY, renewTime: timeAt(-7200) };
    await quiet.putCandidate('default', name, candidate);
  }
  const { out } = await look((host) => showExplanation('x', lookingSettings(quiet.kubeconfig), host));
  expect(out).toContain('  No live candidate asks for a strategy.');
  expect(out).not.toContain('do not agree');
  expect(out).toContain(
    candidates.length === 0
      ? 'no coordinator chooses the leader: look at the logs of its pods'
      : 'default/x-1 and default/x-2: each of them has not renewed for too long',
  );
});

test('plan prints a rehearsal for scripts', async () => {
  const planned = {
    ...settings(),
    namespace: 'kube-system',
    add: ['scheduler-z=1.30.0'],
    remove: [],
    ...unplanned,
    output: 'json' as const,
  };
  const { out } = await look((host) => showPlan('scheduler', planned, host));
  expect(JSON.parse(out)).toMatchObject({ holder: 'scheduler-z', isSettled: true });
});

describe('doctor', () => {
  test('finds problems, and returns an exit code for scripts', async () => {
    const { code, out } = await look((host) => showDiagnosis(settings(), host));
    expect(code).toBe(3);
    await expect(out).toMatchFileSnapshot('outputs/doctor.txt');
  });

  test('lists the missing permissions', async () => {
    const { code, out } = await look((host) =>
      showDiagnosis({ ...lookingSettings(site.readOnlyKubeconfig), output: 'json' }, host),
    );
    expect(code).toBe(3);
    const findings = Map.groupBy(JSON.parse(out).findings, ({ check }: { check: string }) => check);
    expect(findings.get('Permissions')).toMatchObject([
      { severity: 'warning', what: expect.stringContaining('reader may not: create leases, patch leases') },
    ]);
    expect(findings.get('FeatureGate')).toMatchObject([{ severity: 'warning' }]);
  });
});

describe('a user with permissions in one namespace', () => {
  const limited = (namespace: string) => ({ ...lookingSettings(site.limitedKubeconfig), namespace });

  test('gets a report of doctor with the permissions of a coordinator for that namespace', async () => {
    const { out } = await look((host) => showDiagnosis({ ...limited('kube-system'), output: 'json' }, host));
    const whatOf = Object.fromEntries(
      JSON.parse(out).findings.map(({ check, what }: { check: string; what: string }) => [check, what]),
    );
    expect(whatOf).toMatchObject({
      APIServed: expect.stringContaining('Only namespace kube-system may be examined.'),
      Permissions: 'limited may do all that a coordinator that is limited to namespace kube-system does.',
      Leases: 'kube-system/controllers: StrategyConflict.',
    });
  });

  test('gets a report of doctor about missing permissions in another namespace', async () => {
    const { out } = await look((host) => showDiagnosis({ ...limited('default'), output: 'json' }, host));
    expect(JSON.parse(out).findings).toMatchObject([
      { check: 'APIServed', severity: 'warning', advice: expect.stringContaining('--namespace') },
      { check: 'FeatureGate', severity: 'warning' },
      { check: 'CoordinatorLock' },
      {
        check: 'Permissions',
        severity: 'warning',
        what: expect.stringContaining('limited may not: list leases'),
      },
      { check: 'Clocks', severity: 'ok' },
    ]);
  });

  test('is told to choose another namespace if there is no such Lease in it', async () => {
    const looking = showExplanation('nothing', limited('kube-system'), makeLookingHost());
    await expect(looking).rejects.toThrow(
      /^there is no Lease nothing in namespace kube-system, and no candidate for it; choose another namespace with -n$/,
    );
  });

  test('cannot watch all namespaces, and learns what to do instead', async () => {
    const watching = { ...limited('default'), allNamespaces: true, watch: true };
    const refused = showStatus(watching, makeLookingHost());
    await expect(refused).rejects.toThrow(/403 Forbidden.*name a namespace that you may read/);
  });
});

describe('a server with the feature gate off', () => {
  let gateless: LookingSite;
  beforeAll(async () => {
    gateless = await startLookingSite({ leaseCandidateVersions: [] });
  });
  afterAll(() => gateless.stop());

  test('is reported by status, explain and doctor', async () => {
    const off = lookingSettings(gateless.kubeconfig);
    const shown = await look((host) => showStatus({ ...off, allNamespaces: true, watch: false }, host));
    expect(shown).toMatchObject({ code: 1, err: expect.stringContaining('serves no LeaseCandidates') });
    await expect(showExplanation('x', off, makeLookingHost())).rejects.toThrow('serves no LeaseCandidates');
    const examined = await look((host) => showDiagnosis(off, host));
    expect(examined.code).toBe(3);
    await expect(examined.out).toMatchFileSnapshot('outputs/doctor-gate-off.txt');
  });
});

test('a server that is down is reported, and so is a missing kubeconfig', async () => {
  const gone = await startLookingSite();
  const diagnosis = () => showDiagnosis(lookingSettings(gone.kubeconfig), makeLookingHost());
  await gone.close();
  await expect(diagnosis()).rejects.toThrow(
    /^GET \/version: connect ECONNREFUSED .*\. Is https:\/\/\S+ the right cluster, and does it run\? Choose another with --kubeconfig or --context$/,
  );
  await gone.stop();
  await expect(diagnosis()).rejects.toThrow(/^Cannot read the kubeconfig .*: ENOENT/);
});
