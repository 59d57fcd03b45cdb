import { applyMergePatch } from '../../apiserver/patch/merge-patch.ts';
import { ElectionController } from '../../controller/election-controller.ts';
import { formatMicroTime } from '../../coordination/micro-time.ts';
import { resourcePaths } from '../../coordination/resource-paths.ts';
import type { ApiRequest, KubernetesClient } from '../../kubernetes/client.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { RunSettings } from '../../settings/run-settings.ts';
import { type Clock, sleep } from '../../support/clock.ts';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { createControllerReport } from '../../telemetry/controller-report.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { createMetrics } from '../../telemetry/metrics.ts';

const NAMESPACE = 'practice';
const LEASES = 40;

/** Of each Lease, by the version that they emulate; the best one comes second. */
const MINORS = [31, 30, 32];

/** A candidate that has rested this long, in microseconds, is asked before it is trusted; those of every second Lease have. */
const RESTED_MICROS = 60_000_000n;

/** What one election may take, in milliseconds. It takes 10 at first, and 1 in the end. */
const PATIENCE_MS = 500;

/**
 * Elects leaders of Leases that exist in memory alone, by the same code that elects all others: what a process does for the
 * first time takes it ten times as long as what it has done often. Resolves to how many were elected.
 */
export async function practise(
  settings: RunSettings,
  {
    clock,
    version,
    signal,
  }: { readonly clock: Clock; readonly version: string; readonly signal: AbortSignal },
): Promise<number> {
  const server = new PracticeServer();
  const metrics = createMetrics({ version, clock });
  const logger = createLogger({ level: settings.logLevel, clock, destination: { write() {} } });
  const controller = new ElectionController({
    client: server,
    clock,
    // No candidates that come later are to be waited for.
    settings: { ...settings, settleMs: 0 },
    namespaces: [],
    workers: settings.workers,
    isDryRun: false,
    mayWrite: () => true,
    observer: createControllerReport({ logger, metrics, now: () => clock.now(), isDryRun: false }),
    workqueueObserver: metrics.workqueue.observer('leases'),
    writeQueueObserver: metrics.requests,
  });
  const programs = new Programs(server, clock);
  controller.start();
  for (let lease = 0; lease < LEASES && !signal.aborted; lease++)
    await programs.play(`lease-${lease}`, lease % 2 === 0);
  await controller.stop();
  return programs.ended;
}

/** Candidates of one Lease after the other: the best one is to get it, renews it once, and releases it for the next one. */
class Programs {
  readonly #server: PracticeServer;
  readonly #clock: Clock;
  /** Leases that the best candidate has had. */
  readonly #released = new Set<string>();
  #end = () => {};
  #lastTime = 0n;
  /** How many Leases have got their second holder. */
  ended = 0;

  constructor(server: PracticeServer, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
    // Not while the server still answers whoever wrote.
    server.onWritten = (path, object) => void clock.setTimer(() => this.#react(path, object), 0);
  }

  async play(lease: string, areFresh: boolean): Promise<void> {
    const patience = new AbortController();
    this.#end = () => patience.abort();
    const createdAt = this.#nextTime();
    const renewTime = formatMicroTime(createdAt - (areFresh ? 0n : RESTED_MICROS));
    for (const minor of MINORS) {
      const name = `${lease}.${minor}`;
      this.#server.write(resourcePaths.candidate(CANDIDATES, NAMESPACE, name), {
        apiVersion: CANDIDATES,
        kind: 'LeaseCandidate',
        metadata: { namespace: NAMESPACE, name, creationTimestamp: formatMicroTime(createdAt) },
        spec: {
          leaseName: lease,
          binaryVersion: '1.40.0',
          emulationVersion: `1.${minor}.0`,
          strategy: 'OldestEmulationVersion',
          renewTime,
        },
      });
    }
    await sleep(this.#clock, PATIENCE_MS, patience.signal);
  }

  #react(path: string, { kind, spec }: KubernetesObject): void {
    if (!isJsonObject(spec)) return;
    const {
      pingTime = '',
      renewTime = '',
      holderIdentity,
      leaseDurationSeconds,
    } = spec as {
      readonly [field: string]: string | number | undefined;
    };
    const now = formatMicroTime(this.#nextTime());
    if (kind === 'LeaseCandidate') {
      // An answer is never before what it answers, whatever the clock says.
      if (pingTime > renewTime)
        this.#server.write(path, { spec: { renewTime: pingTime > now ? pingTime : now } });
      return;
    }
    const [, minor] = String(holderIdentity).split('.');
    if (minor === '30' && leaseDurationSeconds !== 15) {
      this.#server.write(path, { spec: { renewTime: now, leaseDurationSeconds: 15 } });
    } else if (minor === '30') {
      this.#released.add(path);
      const released = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, strategy: null };
      this.#server.write(path, { spec: released });
    } else if (this.#released.has(path) && minor === '31') {
      this.ended += 1;
      this.#end();
    }
  }

  /** Later than the one before, whatever the clock says: what is written changes with each write. */
  #nextTime(): bigint {
    const time = this.#clock.wallTime();
    this.#lastTime = time > this.#lastTime ? time : this.#lastTime + 1n;
    return this.#lastTime;
  }
}

/** What it has candidates as. */
const CANDIDATES = 'coordination.k8s.io/v1beta1';

/**
 * As much of an API server as a controller needs to elect. It has nothing at first, keeps what is written, and shows that to
 * whoever watches; all of it in memory, in the process that asks.
 */
class PracticeServer implements KubernetesClient {
  readonly server = 'practice';
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #watches = new Map<string, LineStream>();
  #revision = 2;
  /** Told of each object that was written, once those who watch have been. */
  onWritten: (path: string, object: KubernetesObject) => void = () => {};

  async request({ method, path, body }: ApiRequest): Promise<JsonObject> {
    const [, , group, version, ...rest] = path.split('/');
    const apiVersion = `${group}/${version}`;
    if (rest.length === 0 && apiVersion === CANDIDATES) return { resources: [{ name: 'leasecandidates' }] };
    if (rest.length === 0) throw new ApiError({ method, path, status: 404, message: 'not served' });
    if (method === 'GET') {
      const items = [...this.#objects]
        .filter(([each]) => collectionOf(each) === path)
        .map(([, item]) => item);
      return { metadata: { resourceVersion: String(this.#revision) }, items };
    }
    const change = body as KubernetesObject;
    return this.write(method === 'POST' ? `${path}/${change.metadata.name}` : path, change);
  }

  async stream({ path, signal }: ApiRequest): Promise<AsyncIterable<Uint8Array>> {
    const lines = new LineStream(signal);
    this.#watches.set(path, lines);
    return lines;
  }

  async close(): Promise<void> {}

  /** Creates or merges an object, as a POST or a merge patch does. */
  write(path: string, change: JsonObject): KubernetesObject {
    const former = this.#objects.get(path);
    const object = applyMergePatch(former ?? {}, change) as KubernetesObject;
    const uid = former?.metadata.uid ?? path;
    const written = {
      ...object,
      metadata: { ...object.metadata, uid, resourceVersion: String(this.#revision++) },
    };
    this.#objects.set(path, written);
    const event = { type: former ? 'MODIFIED' : 'ADDED', object: written };
    this.#watches.get(collectionOf(path))?.write(JSON.stringify(event));
    this.onWritten(path, written);
    return written;
  }
}

/** Of all namespaces, as it is watched. */
function collectionOf(path: string): string {
  const [, apis, group, version, , , resource] = path.split('/');
  return ['', apis, group, version, resource].join('/');
}

/** Lines for one reader, as they are written; they end with `signal`. */
class LineStream implements AsyncIterable<Uint8Array> {
  readonly #signal: AbortSignal | undefined;
  #waiting: Uint8Array[] = [];
  #wake = () => {};

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener('abort', () => this.#wake(), { once: true });
  }

  write(line: string): void {
    this.#waiting.push(Buffer.from(`${line}\n`));
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (!this.#signal?.aborted) {
      const lines = this.#waiting;
      this.#waiting = [];
      yield* lines;
      if (this.#waiting.length > 0 || this.#signal?.aborted) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
