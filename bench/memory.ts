import { parseArgs } from 'node:util';
import { ElectionRecords } from '../src/controller/election-records.ts';
import { decodeLease } from '../src/coordination/lease.ts';
import { decodeLeaseCandidate } from '../src/coordination/lease-candidate.ts';
import { leaseKey } from '../src/coordination/lease-key.ts';
import { formatMicroTime } from '../src/coordination/micro-time.ts';
import type { Lease, LeaseCandidate } from '../src/election/model.ts';
import { LineSplitter, parseWatchEvent } from '../src/kubernetes/list-watch.ts';
import type { KubernetesObject } from '../src/kubernetes/objects.ts';
import { type Decoder, ObjectStore } from '../src/kubernetes/store.ts';
import type { ControlPlane } from '../test/control-plane/control-plane.ts';
import { builtProgram } from '../test/e2e/built-program.ts';
import { type Coordinator, startCoordinator } from '../test/e2e/coordinator.ts';
import { type MeasuredStart, measureStart } from '../test/e2e/figures/measured-start.ts';
import { writeTable } from '../test/e2e/figures/written-figures.ts';
import { defaultSettings } from '../test/support/election-builders.ts';
import { startFilledPlane } from './filled-plane.ts';
import { measurePods } from './pod-memory.ts';

// The memory of Leases and candidates, `npm run bench -- memory`, 10 minutes: first of each by itself, when
// everything is listed and then changes twice, as over a watch; fails if that exceeds the limit. Then the built
// program with real API servers' Leases, 5 candidates for each: the time until it is ready, the block of the event
// loop during that time, and its memory. `--objects 2000` omits that, and has this many Leases. `--pods 10000`
// measures only the memory of watched Pods, for crash evidence; fails if that exceeds the limit.

const { values } = parseArgs({
  options: {
    objects: { type: 'string' },
    pods: { type: 'string' },
    leases: { type: 'string', default: '0,100,1000,10000' },
    rounds: { type: 'string', default: '3' },
    /** How long an active coordinator rests before its memory is read, in seconds. */
    rest: { type: 'string', default: '20' },
  },
});
const LEASES = Number(values.objects ?? 10_000);
const CANDIDATES = 5 * LEASES;
/** Number of candidates in one chunk of a compressed answer. */
const PIECE = 60;
const MAX_BYTES = 1200;
/** 10,000 Pods in 20 MB. */
const MAX_POD_BYTES = 2000;
const STARTED_AT = BigInt(Date.UTC(2026, 0, 1)) * 1000n;

const collectGarbage = globalThis.gc;
if (!collectGarbage) throw new Error('run it with --expose-gc');

function heapUsed(): number {
  collectGarbage?.();
  collectGarbage?.();
  return process.memoryUsage().heapUsed;
}

function metadata(name: string, index: number, revision: number, spec: object, manager: string) {
  const managedFields = [manager, 'coordinated-leader-election'].map((each) => ({
    manager: each,
    operation: 'Update',
    apiVersion: 'coordination.k8s.io/v1beta1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:spec': Object.fromEntries(
        ['.', ...Object.keys(spec).map((field) => `f:${field}`)].map((f) => [f, {}]),
      ),
    },
  }));
  return {
    name,
    namespace: `namespace-${index % 20}`,
    uid: `3d5e9c23-8938-4b66-bfb2-${index.toString(16).padStart(12, '0')}`,
    resourceVersion: `${1_000_000 + revision * 100_000 + index}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { 'app.kubernetes.io/name': 'component', 'app.kubernetes.io/instance': `instance-${index}` },
    annotations: { 'example.com/note': 'x'.repeat(200) },
    managedFields,
  };
}

function candidateObject(index: number, revision: number) {
  const spec = {
    leaseName: `component-${Math.floor(index / 20) % (LEASES / 20)}`,
    binaryVersion: `1.${36 + (index % 3)}.0`,
    emulationVersion: `1.${35 + (index % 3)}.0`,
    strategy: 'OldestEmulationVersion',
    pingTime: formatMicroTime(STARTED_AT + BigInt(revision) * 1_000_000n),
    renewTime: formatMicroTime(STARTED_AT + BigInt(revision) * 1_000_000n + 5n),
  };
  const name = `component-7f5c9b8d6c-${index.toString(36).padStart(5, '0')}`;
  return { metadata: metadata(name, index, revision, spec, 'component'), spec };
}

function leaseObject(index: number, revision: number) {
  const spec = {
    holderIdentity: `component-7f5c9b8d6c-${index.toString(36).padStart(5, '0')}`,
    leaseDurationSeconds: 15,
    acquireTime: formatMicroTime(STARTED_AT),
    renewTime: formatMicroTime(STARTED_AT + BigInt(revision) * 2_000_000n),
    leaseTransitions: 3,
    strategy: 'OldestEmulationVersion',
  };
  const name = `component-${Math.floor(index / 20)}`;
  return { metadata: metadata(name, index, revision, spec, 'component'), spec };
}

/** Lists `count` objects in chunks, then changes each twice by a watch; every text comes from parsed JSON. */
function fill<T>(
  count: number,
  make: (index: number, revision: number) => object,
  decode: Decoder<T>,
  take: (object: T, revision: number) => void,
): ObjectStore<T> {
  const store = new ObjectStore<T>(decode);
  store.beginList();
  for (let first = 0; first < count; first += PIECE) {
    const page = Array.from({ length: Math.min(PIECE, count - first) }, (_, at) => make(first + at, 0));
    const { items: read } = JSON.parse(JSON.stringify({ items: page })) as { items: KubernetesObject[] };
    for (const { object } of read.flatMap((raw) => store.put(raw))) take(object, 0);
  }
  store.endList();
  for (const revision of [1, 2]) {
    const lines = new LineSplitter(1 << 24);
    for (let first = 0; first < count; first += 20) {
      const text = Array.from(
        { length: Math.min(20, count - first) },
        (_, at) => `${JSON.stringify({ type: 'MODIFIED', object: make(first + at, revision) })}\n`,
      ).join('');
      for (const line of lines.push(Buffer.from(text))) {
        const event = parseWatchEvent(line, '/');
        if (event.type === 'BOOKMARK') continue;
        for (const { object } of store.put(event.object)) take(object, revision);
      }
    }
  }
  return store;
}

if (values.pods !== undefined) {
  const count = Number(values.pods);
  const perPod = await measurePods(count, heapUsed);
  const total = `${((count * perPod) / 2 ** 20).toFixed(1)} MiB in all`;
  process.stdout.write(`${count} Pods: ${perPod.toFixed(0)} bytes each, ${total}\n`);
  if (perPod > MAX_POD_BYTES) process.stderr.write(`that is more than ${MAX_POD_BYTES} bytes\n`);
  process.exit(perPod > MAX_POD_BYTES ? 1 : 0);
}

const records = new ElectionRecords(defaultSettings);
const now = (revision: number) => ({
  monotonic: revision * 1000,
  wall: STARTED_AT + BigInt(revision) * 1_000_000n,
});

const before = heapUsed();
const candidates = fill<LeaseCandidate>(
  CANDIDATES,
  candidateObject,
  decodeLeaseCandidate,
  (candidate, revision) => records.seeCandidate(candidate, now(revision)),
);
const between = heapUsed();
const leases = fill<Lease>(LEASES, leaseObject, decodeLease, (lease, revision) =>
  records.seeLease(leaseKey(lease.namespace, lease.name), lease, now(revision)),
);
const after = heapUsed();

const candidateCount = [...candidates.values()].length;
const leaseCount = [...leases.values()].length;
const perCandidate = (between - before) / candidateCount;
const perLease = (after - between) / leaseCount;
process.stdout.write(
  `${candidateCount} candidates: ${perCandidate.toFixed(0)} bytes each\n` +
    `${leaseCount} Leases: ${perLease.toFixed(0)} bytes each\n` +
    `${((after - before) / 1024 / 1024).toFixed(1)} MiB in all; ${records.size} Leases remembered\n`,
);
if (Math.max(perCandidate, perLease) > MAX_BYTES) {
  process.stderr.write(`that is more than ${MAX_BYTES} bytes\n`);
  process.exitCode = 1;
}

const rows: readonly (readonly [string, (start: MeasuredStart) => number, (value: number) => string])[] = [
  ['from the start to ready', ({ readyMs }) => readyMs, seconds],
  ['... of the processor, until then', ({ readyCpuMs }) => readyCpuMs, seconds],
  ['the event loop was held, from `Started` to ready, at most', ({ heldMs }) => heldMs, milliseconds],
  ['... of the processor', ({ heldCpuMs }) => heldCpuMs, milliseconds],
  ['memory (RSS) when active and at rest', ({ restRss }) => restRss, mebibytes],
  ['... at most, since the start', ({ peakRss }) => peakRss, mebibytes],
  ['... of that, in use in the heap', ({ heapUsed }) => heapUsed, mebibytes],
];

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(0)} ms`;
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}

function spread(found: readonly number[], text: (value: number) => string): string {
  const sorted = found.toSorted((a, b) => a - b);
  const middle = sorted[Math.ceil(sorted.length / 2) - 1];
  return [sorted[0], middle, sorted.at(-1)].map((value) => text(value ?? Number.NaN)).join(' / ');
}

async function measureOnce({ kubeconfig, directory }: ControlPlane): Promise<MeasuredStart> {
  let coordinator: Coordinator | undefined;
  const startWith = async (nodeArgs: readonly string[]) => {
    coordinator = await startCoordinator(kubeconfig, ['--log-level', 'info'], { ...builtProgram, nodeArgs });
    return coordinator;
  };
  try {
    return await measureStart(startWith, directory, Number(values.rest) * 1000);
  } finally {
    await coordinator?.stop();
  }
}

async function measureProgram(): Promise<void> {
  const filled = await startFilledPlane();
  const columns: { readonly leases: number; readonly starts: MeasuredStart[] }[] = [];
  try {
    for (const leases of values.leases.split(',').map(Number)) {
      await filled.fillTo(leases);
      const starts: MeasuredStart[] = [];
      for (let round = 0; round < Number(values.rounds); round++) {
        starts.push(await measureOnce(filled.plane));
        process.stderr.write(`${leases}: ${JSON.stringify(starts.at(-1))}\n`);
      }
      columns.push({ leases, starts });
    }
  } finally {
    await filled.stop();
  }
  const header = ['', ...columns.map(({ leases }) => `${leases.toLocaleString('en')} x 5`)];
  const lines = rows.map(([what, of, text]) => [
    what,
    ...columns.map(({ starts }) => spread(starts.map(of), text)),
  ]);
  const table = [header, header.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`);
  process.stdout.write(`${table.join('\n')}\n`);
  if (process.env['CLE_WRITE_FIGURES'] === '1') await writeTable('memory', table.join('\n'));
}

if (values.objects === undefined) await measureProgram();
