import { beforeEach, describe, expect, test } from 'vitest';
import { PRIORITY_ANNOTATION, PRIORITY_UNTIL_ANNOTATION } from '../../src/coordination/candidate-priority.ts';
import { PARTICIPANT_FIELD_MANAGER } from '../../src/coordination/lease.ts';
import { formatMicroTime, parseMicroTime } from '../../src/coordination/micro-time.ts';
import { PRIORITY_SET_BY_ANNOTATION } from '../../src/coordination/priority-patch.ts';
import { annotationsOf, specOf } from '../../src/coordination/raw-object.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { Candidate } from '../../src/participant/candidate.ts';
import type { CandidateDescription } from '../../src/participant/candidate-body.ts';
import type { JsonObject } from '../../src/support/json.ts';
import type { SimConnection } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { ParticipantStage } from './participant-stage.ts';

const KEY = 'default/one';
const NATIVE = 'leasecandidates';
const CUSTOM = 'customcandidates';

let stage: ParticipantStage;
let process: SimProcess;
const description: CandidateDescription = {
  namespace: 'default',
  name: 'one',
  leaseName: 'checkout',
  binaryVersion: '1.4.2',
  emulationVersion: '1.3.0',
  strategy: 'OldestEmulationVersion',
  priority: 0,
  labels: {},
  pod: undefined,
};

beforeEach(() => {
  stage = new ParticipantStage();
  process = new SimProcess(stage.clock);
});

interface Started {
  readonly candidate: Candidate;
  readonly connection: SimConnection;
  readonly warnings: readonly string[];
  stop(): Promise<void>;
}

async function started(fields: Partial<CandidateDescription> = {}): Promise<Started> {
  const warnings: string[] = [];
  const connection = stage.connect(process);
  const candidate = new Candidate({
    client: connection,
    clock: process,
    description: { ...description, ...fields },
    logger: { debug() {}, info() {}, error() {}, warn: (_, text) => warnings.push(text) },
  });
  const ending = new AbortController();
  const running = candidate.run(ending.signal);
  await stage.clock.advance(100);
  return {
    candidate,
    connection,
    warnings,
    async stop() {
      ending.abort();
      await stage.clock.advance(6000);
      await running;
    },
  };
}

function own(resource: typeof NATIVE | typeof CUSTOM = NATIVE): KubernetesObject | undefined {
  return stage.api.store.get(resource, KEY);
}

function change(spec: JsonObject, metadata: JsonObject = {}): void {
  const before = own();
  if (!before) throw new Error('there is no candidate');
  stage.api.store.update(NATIVE, before, {
    ...before,
    metadata: { ...before.metadata, ...metadata },
    spec: { ...specOf(before), ...spec },
  });
}

function time(field: 'renewTime' | 'pingTime'): bigint {
  return parseMicroTime(String(specOf(own() ?? {})[field])) ?? -1n;
}

function remove(resource: typeof NATIVE | typeof CUSTOM = NATIVE): void {
  const object = own(resource);
  if (object) stage.api.store.remove(resource, object);
}

describe('a candidate (rule 15)', () => {
  test('describes its program, and belongs to its Pod', async () => {
    await started({ labels: { zone: 'a' }, pod: { name: 'checkout-0', uid: 'uid-of-pod' } });
    expect(own()).toMatchObject({
      metadata: {
        name: 'one',
        labels: { zone: 'a' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'checkout-0', uid: 'uid-of-pod' }],
      },
      spec: {
        leaseName: 'checkout',
        binaryVersion: '1.4.2',
        emulationVersion: '1.3.0',
        strategy: 'OldestEmulationVersion',
      },
    });
  });

  test('renews every five minutes without a ping', async () => {
    await started();
    const first = time('renewTime');
    await stage.clock.advance(299_000);
    expect(time('renewTime')).toBe(first);
    await stage.clock.advance(2000);
    expect(time('renewTime')).toBeGreaterThan(first);
  });

  test.each([
    { name: 'that is right', wallMs: 0 },
    { name: 'an hour behind', wallMs: -3_600_000 },
    { name: 'an hour ahead', wallMs: 3_600_000 },
  ])('answers a ping at once with a clock $name', async ({ wallMs }) => {
    process = new SimProcess(stage.clock, { wallMs });
    await started();
    await stage.clock.advance(60_000);
    for (let ping = 0; ping < 3; ping++) {
      const writes = stage.api.writes.length;
      const before = time('renewTime');
      change({ pingTime: formatMicroTime(stage.clock.wallTime()) });
      await stage.clock.advance(0);
      expect(time('renewTime')).not.toBe(before);
      if (wallMs <= 0) expect(time('renewTime')).toBeGreaterThan(time('pingTime'));
      expect(stage.api.writes.length - writes).toBe(1);
      await stage.clock.advance(1000);
    }
  });

  test('answers a ping that comes while it renews', async () => {
    await started();
    stage.fate = ({ method }) => (method === 'PATCH' ? { requestMs: 100, answerMs: 100 } : {});
    change({ pingTime: formatMicroTime(stage.clock.wallTime() + 1n) });
    await stage.clock.advance(150);
    const pingTime = stage.clock.wallTime() + 60_000_000n;
    change({ pingTime: formatMicroTime(pingTime) });
    await stage.clock.advance(300);
    expect(time('renewTime')).toBe(pingTime + 1n);
  });

  test('that is deleted is published again at once, and less often if that repeats', async () => {
    const { warnings } = await started();
    remove();
    await stage.clock.advance(5);
    expect(own()).toBeDefined();
    expect(warnings).toEqual(['The LeaseCandidate was deleted: it is published again']);
    let publications = 0;
    for (let second = 0; second < 60; second++) {
      if (own()) publications++;
      remove();
      await stage.clock.advance(1000);
    }
    expect(publications).toBeGreaterThan(5);
    expect(publications).toBeLessThan(20);
  });

  test('that was deleted during its renewal is published again', async () => {
    await started();
    stage.fate = ({ method }) => (method === 'PATCH' ? { answerMs: 1000 } : {});
    change({ pingTime: formatMicroTime(stage.clock.wallTime() + 1n) });
    await stage.clock.advance(10);
    remove();
    await stage.clock.advance(2000);
    expect(own()).toBeDefined();
  });

  test('that was deleted before its watch began is published again', async () => {
    stage.fate = ({ query }) => (query?.['fieldSelector'] ? { requestMs: 1000 } : {});
    await started();
    expect(own()).toBeDefined();
    remove();
    await stage.clock.advance(2000);
    expect(own()).toBeDefined();
  });

  test('retries when it is refused, and reports it once', async () => {
    stage.fate = ({ method }) => (method === 'POST' ? { outcome: 403 } : {});
    const { warnings } = await started();
    await stage.clock.advance(20_000);
    expect(warnings).toEqual(['Cannot publish or renew the LeaseCandidate']);
    stage.fate = () => ({});
    await stage.clock.advance(3000);
    expect(own()).toBeDefined();
  });

  test('reports that its namespace is missing', async () => {
    stage.fate = ({ method, path }) => {
      if (method !== 'POST') return {};
      throw new ApiError({ method, path, status: 404, reason: 'NotFound', message: 'namespace not found' });
    };
    const { warnings } = await started();
    expect(warnings).toEqual(['Cannot publish or renew the LeaseCandidate']);
  });

  test('is deleted when it stops, unless another program has replaced it', async () => {
    const { stop } = await started();
    await stop();
    expect(own()).toBeUndefined();
    expect(stage.clock.pendingTimers).toBe(0);

    const another = await started();
    stage.api.isStale = true;
    remove();
    stage.api.store.create(NATIVE, { metadata: { namespace: 'default', name: 'one' }, spec: {} });
    await another.stop();
    expect(own()).toBeDefined();
  });

  test('gives up its deletion after some seconds without a server', async () => {
    const { stop, warnings } = await started();
    stage.api.isDown = true;
    await stop();
    expect(warnings).toContain('Cannot delete the LeaseCandidate');
  });

  test('that becomes a candidate again is published within milliseconds, although a request of its discovery has failed', async () => {
    const { candidate } = await started();
    const withdrawn = candidate.withdraw();
    await stage.clock.advance(10);
    await withdrawn;
    let failures = 0;
    stage.fate = ({ path }) => {
      const fails = !path.includes('/namespaces/') && failures === 0;
      if (fails) failures += 1;
      return fails ? { outcome: 503 } : {};
    };
    candidate.stand();
    await stage.clock.advance(100);
    expect(failures).toBe(1);
    expect(own()).toBeDefined();
  });

  test('that is withdrawn while a discovery waits for its answer is deleted at once', async () => {
    const { candidate } = await started();
    stage.fate = ({ path }) => (path.includes('/namespaces/') ? {} : { answerMs: 60_000 });
    await stage.clock.advance(300_000);
    const withdrawn = candidate.withdraw();
    await stage.clock.advance(10);
    expect(own()).toBeUndefined();
    await withdrawn;
    stage.fate = () => ({});
    candidate.stand();
    await stage.clock.advance(100);
    expect(own()).toBeDefined();
  });

  test('that is withdrawn is deleted, and published when it becomes a candidate again', async () => {
    const { candidate } = await started();
    const withdrawn = candidate.withdraw();
    await stage.clock.advance(10);
    await withdrawn;
    expect(own()).toBeUndefined();
    await stage.clock.advance(600_000);
    expect(own()).toBeUndefined();
    candidate.stand();
    await stage.clock.advance(10);
    expect(own()).toBeDefined();
  });
});

describe('a candidate that finds a LeaseCandidate of its name', () => {
  const spec = { leaseName: 'checkout', binaryVersion: '1.0.0', emulationVersion: '1.0.0', strategy: 'a/b' };

  function leave(fields: JsonObject = {}, metadata: JsonObject = {}): void {
    stage.api.store.create(NATIVE, {
      metadata: { namespace: 'default', name: 'one', ...metadata },
      spec: { ...spec, renewTime: formatMicroTime(stage.clock.wallTime()), ...fields },
    });
  }

  test('adopts it, and updates it', async () => {
    leave();
    const uid = own()?.metadata.uid;
    await started({ priority: 7 });
    expect(own()?.metadata).toMatchObject({ uid, annotations: { [PRIORITY_ANNOTATION]: '7' } });
    expect(specOf(own() ?? {})).toMatchObject({
      binaryVersion: '1.4.2',
      emulationVersion: '1.3.0',
      strategy: 'OldestEmulationVersion',
    });
  });

  test('keeps a priority of a transfer or a drain, although it has its own', async () => {
    const annotations = { [PRIORITY_ANNOTATION]: '100', [PRIORITY_SET_BY_ANNOTATION]: '{}' };
    leave({}, { annotations });
    await started({ priority: 7 });
    expect(own()?.metadata['annotations']).toEqual(annotations);
  });

  const ownedBy = (...managers: readonly string[]) =>
    managers.map((manager) => ({
      manager,
      operation: 'Update',
      fieldsV1: { 'f:metadata': { 'f:annotations': { [`f:${PRIORITY_ANNOTATION}`]: {} } } },
    }));
  const until = { [PRIORITY_UNTIL_ANNOTATION]: '2030-01-01T00:00:00Z' };
  test.each<{
    readonly name: string;
    readonly others?: Readonly<Record<string, string>>;
    readonly managedFields?: JsonObject['managedFields'];
    readonly wantPriority: string | undefined;
  }>([
    {
      name: 'removes its former priority when it has none now',
      managedFields: ownedBy(PARTICIPANT_FIELD_MANAGER),
      wantPriority: undefined,
    },
    {
      name: 'keeps a priority that another client has set',
      managedFields: ownedBy('kubectl-annotate'),
      wantPriority: '7',
    },
    {
      name: 'keeps a priority that another client has also set',
      managedFields: ownedBy(PARTICIPANT_FIELD_MANAGER, 'kubectl'),
      wantPriority: '7',
    },
    { name: 'keeps a priority whose owner is unknown', wantPriority: '7' },
    {
      name: 'keeps a priority that a drain or a transfer has set',
      managedFields: ownedBy('kubectl-cle'),
      others: { ...until, [PRIORITY_SET_BY_ANNOTATION]: '{}' },
      wantPriority: '7',
    },
    {
      name: 'keeps its former priority while it has the mark of a drain',
      managedFields: ownedBy(PARTICIPANT_FIELD_MANAGER),
      others: { [PRIORITY_SET_BY_ANNOTATION]: '{}' },
      wantPriority: '7',
    },
    {
      name: 'keeps a priority that has an end',
      managedFields: ownedBy(PARTICIPANT_FIELD_MANAGER),
      others: until,
      wantPriority: '7',
    },
  ])('$name (rule 16)', async ({ others, managedFields, wantPriority }) => {
    const annotations = { note: 'hello', ...others, [PRIORITY_ANNOTATION]: '7' };
    leave({}, { annotations, ...(managedFields !== undefined && { managedFields }) });
    await started({ priority: 0 });
    expect(specOf(own() ?? {})['binaryVersion']).toBe('1.4.2');
    const { [PRIORITY_ANNOTATION]: priority, ...rest } = annotationsOf(own() ?? { metadata: { name: '' } });
    expect(priority).toBe(wantPriority);
    expect(rest).toEqual({ note: 'hello', ...others });
  });

  test('for another Lease replaces it, as leaseName cannot be changed', async () => {
    leave({ leaseName: 'other' });
    await started();
    expect(specOf(own() ?? {})['leaseName']).toBe('checkout');
  });

  test('does not restore its priority after another client has changed it', async () => {
    await started({ priority: 7 });
    change({}, { annotations: { [PRIORITY_ANNOTATION]: '-100' } });
    await stage.clock.advance(301_000);
    expect(own()?.metadata['annotations']).toEqual({ [PRIORITY_ANNOTATION]: '-100' });
  });
});

describe('the place of a candidate (rule 15)', () => {
  test('is the custom resource if the server has no native LeaseCandidates, with its priority as a field', async () => {
    stage.api.candidateVersions = [];
    stage.api.hasCustomCandidates = true;
    await started({ priority: 7 });
    expect(own()).toBeUndefined();
    expect(specOf(own(CUSTOM) ?? {})).toMatchObject({ leaseName: 'checkout', priority: 7 });
    expect(own(CUSTOM)?.metadata['annotations']).toBeUndefined();
  });

  test('is v1alpha2 if that is served', async () => {
    stage.api.candidateVersions = ['v1alpha2'];
    await started();
    expect(own()?.apiVersion).toBe('coordination.k8s.io/v1alpha2');
  });

  test('is searched for until there is one, and the lack of one is reported once', async () => {
    stage.api.candidateVersions = [];
    const { warnings } = await started();
    await stage.clock.advance(60_000);
    expect(warnings).toHaveLength(1);
    stage.api.hasCustomCandidates = true;
    await stage.clock.advance(10_100);
    expect(own(CUSTOM)).toBeDefined();
  });

  test('is the custom resource if the program may not use the native API', async () => {
    stage.api.hasCustomCandidates = true;
    stage.fate = ({ path }) => (path.includes('v1beta1/namespaces') ? { outcome: 403 } : {});
    const { warnings } = await started();
    expect(own(CUSTOM)).toBeDefined();
    await stage.clock.advance(600_000);
    expect(warnings).not.toContain('Cannot delete the LeaseCandidate');
    expect(stage.api.requests.filter((request) => request.includes('POST')).length).toBe(1);
  });

  test('keeps the custom resource that the program may use in the end, when it may use neither at first', async () => {
    stage.api.hasCustomCandidates = true;
    stage.fate = ({ path }) => (path.includes('/namespaces/') ? { outcome: 403 } : {});
    await started();
    await stage.clock.advance(60_000);
    expect(own(CUSTOM)).toBeUndefined();
    stage.fate = ({ path }) => (path.includes('v1beta1/namespaces') ? { outcome: 403 } : {});
    await stage.clock.advance(600_000);
    expect(own(CUSTOM)).toBeDefined();
  });

  test('moves to the native API when that appears, without a gap', async () => {
    stage.api.candidateVersions = [];
    stage.api.hasCustomCandidates = true;
    await started();
    stage.api.candidateVersions = ['v1beta1'];
    stage.fate = ({ method }) => (method === 'POST' ? { requestMs: 1000 } : {});
    await stage.clock.advance(300_500);
    expect(own(CUSTOM)).toBeDefined();
    expect(own()).toBeUndefined();
    await stage.clock.advance(1000);
    expect(own()).toBeDefined();
    expect(own(CUSTOM)).toBeUndefined();
  });

  test.each([
    { name: 'the program may not use a native API that appears', outcome: 403 },
    { name: 'a native API disappears before the move to it has ended', outcome: 404 },
  ] as const)('keeps its custom resource if $name', async ({ outcome }) => {
    stage.api.candidateVersions = [];
    stage.api.hasCustomCandidates = true;
    const { stop } = await started();
    const before = own(CUSTOM);
    stage.api.candidateVersions = ['v1beta1'];
    stage.fate = ({ path }) => {
      if (!path.includes('v1beta1/namespaces')) return {};
      if (outcome === 404) stage.api.candidateVersions = [];
      return { outcome };
    };
    const deletions = () => stage.api.requests.filter((request) => request.includes('DELETE'));
    await stage.clock.advance(601_000);
    expect(own(CUSTOM)?.metadata.uid).toBe(before?.metadata.uid);
    expect(own(CUSTOM)?.metadata.resourceVersion).not.toBe(before?.metadata.resourceVersion);
    expect(deletions()).toEqual([]);
    await stop();
    expect(own(CUSTOM)).toBeUndefined();
  });

  // If both groups have a LeaseCandidate of one name, the native one counts, even if no program renews it (rule 13).
  test.each([
    { name: 'at once', fate: {}, withinMs: 2000 },
    { name: 'soon after it could not be looked for', fate: { outcome: 503 }, withinMs: 12_000 },
  ])(
    'moves $name to the native API when servers that have it again break its watch',
    async ({ fate, withinMs }) => {
      stage.api.candidateVersions = [];
      stage.api.hasCustomCandidates = true;
      const { connection } = await started();
      stage.api.candidateVersions = ['v1beta1'];
      stage.api.store.create(NATIVE, {
        metadata: { namespace: 'default', name: 'one' },
        spec: { leaseName: 'checkout' },
      });
      stage.fate = ({ path }) => (path.endsWith('/v1beta1') ? fate : {});
      connection.breakWatches();
      await stage.clock.advance(1500);
      stage.fate = () => ({});
      await stage.clock.advance(withinMs - 1500);
      expect(specOf(own() ?? {})['binaryVersion']).toBe('1.4.2');
      expect(own(CUSTOM)).toBeUndefined();
    },
  );

  test('does no discovery when the watch breaks in the best version', async () => {
    const { connection } = await started();
    const discoveries = () => stage.api.requests.filter((request) => request.endsWith('v1beta1')).length;
    const before = discoveries();
    connection.breakWatches();
    await stage.clock.advance(5000);
    expect(discoveries()).toBe(before);
  });

  test('moves to the custom resource when the native API disappears', async () => {
    stage.api.hasCustomCandidates = true;
    const { stop } = await started();
    expect(own(CUSTOM)).toBeUndefined();
    stage.api.candidateVersions = [];
    change({ pingTime: formatMicroTime(stage.clock.wallTime() + 1n) });
    await stage.clock.advance(400_000);
    expect(own(CUSTOM)).toBeDefined();
    await stop();
    expect(own(CUSTOM)).toBeUndefined();
  });
});
