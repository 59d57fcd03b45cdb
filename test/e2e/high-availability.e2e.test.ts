import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeLease } from '../../src/coordination/lease.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import {
  candidatesPath,
  coordinatorAccount,
  coordinatorLease,
  createCandidate,
  leasePath,
  readLease,
} from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import type { Electors } from '../control-plane/electors.ts';
import type { LogLine } from '../support/log-line.ts';
import { type AuditLog, prepareAuditLog } from './audit-log.ts';
import { type Coordinator, eventually, installRole, startCoordinator, untilActive } from './coordinator.ts';
import {
  builtIn,
  type CoordinatorTurn,
  coordinatorTurns,
  lateWrites,
  overlaps,
} from './coordinator-turns.ts';

/** How long a claim of the lock lasts. */
const lockDurationMs = 15_000;
/** What a slow machine may add to any of the delays that are promised. */
const slackMs = 3_000;

/** Each cluster's tests are one story; the clusters' stories run side by side. */
const inOrder = { concurrent: false } as const;

/** A cluster with the built-in coordinator, an audit log, and elections to be held all the time. */
interface Site {
  readonly plane: ControlPlane;
  readonly audit: AuditLog;
  readonly replicas: readonly Coordinator[];
  /** Starts a replica with its own token, and so with its own audit trail. */
  startReplica(...args: readonly string[]): Promise<Coordinator>;
  stop(): Promise<void>;
}

async function startSite(): Promise<Site> {
  const audit = await prepareAuditLog();
  const plane = await startControlPlane({ extraApiServerArgs: audit.apiServerArgs });
  await installRole(plane);
  const replicas: Coordinator[] = [];
  const stopElections = holdElections(plane);
  return {
    plane,
    audit,
    replicas,
    async startReplica(...args) {
      const kubeconfig = await plane.kubeconfigFor({ serviceAccount: coordinatorAccount });
      const replica = await startCoordinator(kubeconfig, args);
      replicas.push(replica);
      return replica;
    },
    async stop() {
      await stopElections();
      await Promise.all(replicas.map((replica) => replica.kill()));
      await plane.stop();
      await audit.remove();
    },
  };
}

/**
 * Creates candidates for new Leases repeatedly, so that the active coordinator has something to write and its
 * activity is visible.
 */
function holdElections(plane: ControlPlane): () => Promise<void> {
  const stopping = new AbortController();
  const running = (async () => {
    for (let index = 0; !stopping.signal.aborted; index += 1) {
      await createCandidate(plane, { lease: `lease-${index}`, name: `candidate-${index}` }).catch(() => {});
      // Before its Lease, which is never renewed, expires: each candidate must cause one write, not more and more.
      await plane.request('DELETE', `${candidatesPath({})}/candidate-${index - 20}`).catch(() => {});
      await sleep(250, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();
  return async () => {
    stopping.abort();
    await running;
  };
}

/** The first election by a replica after `since`, in milliseconds since the Unix epoch. */
async function untilElects(replica: Coordinator, since: number, timeoutMs: number): Promise<number> {
  const isElection = ({ msg, time }: LogLine) => msg === 'Changed a Lease' && Date.parse(time) > since;
  return Date.parse((await replica.waitForLog(isElection, timeoutMs)).time);
}

function untilState(
  replica: Coordinator,
  state: string,
  since: number,
  timeoutMs = 30_000,
): Promise<LogLine> {
  return replica.waitForLog((line) => line.state === state && Date.parse(line.time) >= since, timeoutMs);
}

async function untilWarm(replica: Coordinator): Promise<void> {
  await replica.waitForLog(({ msg }) => msg === 'Watching LeaseCandidates');
  await replica.waitForLog(({ state }) => state === 'standby');
}

async function untilBuiltInHoldsTheLock(plane: ControlPlane): Promise<string> {
  return eventually(
    async () => (await readLease(plane, coordinatorLease))?.spec.holderIdentity,
    'the built-in coordinator holds the lock',
  );
}

/** The first election by the built-in coordinator after `since`, in milliseconds since the Unix epoch. */
function untilBuiltInElects(audit: AuditLog, since: number): Promise<number> {
  return eventually(async () => {
    const { turns } = coordinatorTurns(await audit.requests());
    return turns
      .filter(({ client }) => client === builtIn)
      .flatMap(({ writes }) => writes)
      .find(({ resource, status, receivedAt }) => resource === 'leases' && status < 300 && receivedAt > since)
      ?.answeredAt;
  }, 'the built-in coordinator elects somebody');
}

/** The state of the lock in a replica's /readyz; undefined if it does not answer in time. */
async function lockLine(replica: Coordinator, timeoutMs = 30_000): Promise<string | undefined> {
  const answer = replica.get('/readyz').then(
    ({ body }) => body.split('\n').find((line) => line.includes('coordinator-lock')),
    () => undefined,
  );
  return Promise.race([answer, sleep(timeoutMs, undefined, { ref: false })]);
}

/** Polls all replicas for whether they are the coordinator, and records every time that two were. */
function watchForTwo({ replicas }: Site) {
  const stopping = new AbortController();
  const offences: string[] = [];
  let samples = 0;
  const ask = async () => {
    const lines = await Promise.all(
      replicas.map(async (replica) => [replica.pid, await lockLine(replica, 500)] as const),
    );
    return lines.flatMap(([pid, line]) => (line?.includes('coordinator-lock ok') ? [pid] : []));
  };
  const running = (async () => {
    let before = await ask();
    while (!stopping.signal.aborted) {
      await sleep(50);
      const now = await ask();
      samples += 1;
      // The answers of one round have different times: only a replica that reports it twice was active in between.
      const both = now.filter((pid) => before.includes(pid));
      if (both.length > 1) offences.push(`${both.join(' and ')} at ${new Date().toISOString()}`);
      before = now;
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
      return { offences, samples };
    },
  };
}

/** The properties of every cluster's history. */
function expectOneCoordinatorAtATime(turns: readonly CoordinatorTurn[]): void {
  expect(overlaps(turns)).toEqual([]);
  for (const turn of turns) {
    // The built-in coordinator may act until its renew deadline has passed. Our pause after a take-over covers that
    // time.
    if (turn.client !== builtIn) expect(lateWrites(turn)).toEqual([]);
  }
}

describe.concurrent('two replicas beside the built-in coordinator', () => {
  let site: Site;
  let watch: ReturnType<typeof watchForTwo>;
  let electors: Electors;
  let [active, standby]: Coordinator[] = [];
  beforeAll(async () => {
    site = await startSite();
    await untilBuiltInHoldsTheLock(site.plane);
    electors = await site.plane.startElectors();
    await electors.start({ id: 'steady', lease: 'steady' });
    await electors.waitFor({ id: 'steady', event: 'startedLeading' });
    watch = watchForTwo(site);
  });
  afterAll(async () => {
    await site?.stop();
  });

  test(
    'take over, and wait until the built-in coordinator has certainly stopped before the first election',
    inOrder,
    async () => {
      const startedAt = Date.now();
      const started = await Promise.all([site.startReplica(), site.startReplica()]);
      const claimant = await Promise.any(
        started.map(async (replica) => {
          await untilState(replica, 'settling', startedAt);
          return replica;
        }),
      );
      expect(await lockLine(claimant)).toMatch(/coordinator-lock not ok, not required: settling/);
      active = claimant;
      standby = started.find((replica) => replica !== claimant);
      await untilActive(active);
      await untilElects(active, startedAt, 30_000);
      for (const replica of started) expect((await replica.get('/readyz')).status).toBe(200);
      expect(await lockLine(active)).toContain('coordinator-lock ok: active');
      expect(standby && (await lockLine(standby))).toMatch(
        /not ok, not required: standby, held by coordinated-/,
      );

      const requests = await site.audit.requests();
      const { turns } = coordinatorTurns(requests);
      expect(turns.map(({ client }) => client === builtIn)).toEqual([true, false]);
      const lastRenewalAt = requests.findLast(
        ({ client, name, verb, status }) =>
          client === builtIn && name === coordinatorLease.name && verb === 'update' && status === 200,
      )?.receivedAt;
      const firstWriteAt = Math.min(...(turns[1]?.writes ?? []).map(({ receivedAt }) => receivedAt));
      // The belief of the former holder counts: that it holds the lock for the duration of its last renewal.
      expect(firstWriteAt - (lastRenewalAt ?? firstWriteAt)).toBeGreaterThanOrEqual(lockDurationMs);
    },
  );

  test("replace a killed one within the lock's duration", inOrder, async () => {
    if (!active || !standby) throw new Error('there is no coordinator to kill');
    const killedAt = Date.now();
    await active.kill();
    const elapsedMs = (await untilElects(standby, killedAt, lockDurationMs + 15_000)) - killedAt;
    console.info(`kill -9: the other elected after ${elapsedMs} ms`);
    expect(elapsedMs).toBeLessThan(lockDurationMs + slackMs);
    active = standby;
  });

  test('replace a stopped one within 3 s', inOrder, async () => {
    if (!active) throw new Error('there is no coordinator to stop');
    standby = await site.startReplica();
    await untilWarm(standby);
    const stoppedAt = Date.now();
    const [code, electedAt] = await Promise.all([active.stop(), untilElects(standby, stoppedAt, 30_000)]);
    console.info(`SIGTERM: the other elected after ${electedAt - stoppedAt} ms`);
    expect(code).toBe(0);
    expect(electedAt - stoppedAt).toBeLessThan(3_000 + slackMs);
    const { turns } = coordinatorTurns(await site.audit.requests());
    expect(turns.at(-2)?.wasReleased).toBe(true);
    active = standby;
  });

  test('hand the cluster back to the built-in when all of them are stopped', inOrder, async () => {
    if (!active) throw new Error('there is no coordinator to stop');
    const other = await site.startReplica();
    await untilWarm(other);
    const stoppedAt = Date.now();
    expect(await Promise.all([active.stop(), other.stop()])).toEqual([0, 0]);
    const electedAt = await untilBuiltInElects(site.audit, Date.now());
    console.info(`SIGTERM to all: the built-in elected after ${electedAt - stoppedAt} ms`);
    expect(await untilBuiltInHoldsTheLock(site.plane)).not.toContain('coordinated-leader-election_');
  });

  test('know a grant of the built-in by its field ownership', inOrder, async () => {
    const lease = { namespace: 'default', name: 'granted-by-built-in' };
    await createCandidate(site.plane, { lease: lease.name, name: 'granted-by-built-in-1' });
    await eventually(() => readLease(site.plane, lease), 'the built-in creates the Lease');
    const granted = await site.plane.request<KubernetesObject>('GET', leasePath(lease));
    expect(decodeLease(granted)).toMatchObject({
      holderIdentity: 'granted-by-built-in-1',
      isRenewedByCoordinator: true,
    });
  });

  test('never were two coordinators, and no leader noticed the changes', inOrder, async () => {
    const { offences, samples } = await watch.stop();
    expect(offences).toEqual([]);
    expect(samples).toBeGreaterThan(100);
    const requests = await site.audit.requests();
    const { turns, early } = coordinatorTurns(requests);
    expect(early).toEqual([]);
    expectOneCoordinatorAtATime(turns);
    // The role of all replicas was sufficient.
    const ofOurs = requests.filter(({ user }) => user.endsWith(`:${coordinatorAccount.name}`));
    expect(ofOurs.length).toBeGreaterThan(0);
    expect(ofOurs.filter(({ status }) => status === 403)).toEqual([]);
    expect(electors.leading()).toEqual(['steady']);
    expect(electors.events.filter(({ event }) => event === 'startedLeading')).toHaveLength(1);
  });
});

describe.concurrent('a replica that does not take over', () => {
  let site: Site;
  beforeAll(async () => {
    site = await startSite();
  });
  afterAll(async () => {
    await site?.stop();
  });

  test(
    'reports that it waits while the built-in coordinator holds the lock, and acts after its claim has expired',
    inOrder,
    async () => {
      const holder = await untilBuiltInHoldsTheLock(site.plane);
      const startedAt = Date.now();
      const replica = await site.startReplica('--no-take-over');
      const waiting = await untilState(replica, 'waiting', startedAt);
      expect(waiting).toMatchObject({ holder, msg: 'The coordinator lock changed' });
      await replica.waitForLog(({ msg }) => msg === 'Watching LeaseCandidates');
      const { status, body } = await replica.get('/readyz');
      expect(body).toContain(`coordinator-lock not ok, not required: waiting, held by ${holder}`);
      expect(status).toBe(200);
      // In the meantime, it does not disturb the built-in coordinator.
      await untilBuiltInElects(site.audit, Date.now());

      // The next API server's built-in coordinator has another identity and must also wait for the last one's claim
      // to expire; but it sees that claim only after its start.
      await site.plane.restartApiServer();
      await untilState(replica, 'active', startedAt, 60_000);
      await untilElects(replica, startedAt, 30_000);
      expect(replica.log.filter(({ msg }) => msg === 'Took the coordinator lock over')).toEqual([]);
    },
  );
});
