import { ElectionController } from '../../controller/election-controller.ts';
import { formatMicroTime } from '../../coordination/micro-time.ts';
import { resourcePaths } from '../../coordination/resource-paths.ts';
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { RunSettings } from '../../settings/run-settings.ts';
import { type Clock, sleep } from '../../support/clock.ts';
import { isJsonObject } from '../../support/json.ts';
import { createControllerReport } from '../../telemetry/controller-report.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { CANDIDATES, PracticeServer } from './practice-server.ts';

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
