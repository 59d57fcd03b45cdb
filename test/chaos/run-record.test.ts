import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditLogName } from './audited-writes.ts';
import { judge } from './chaos-run.ts';
import { type StoredWrite, writesName } from './etcd-recorder.ts';
import { type JournalEntry, journalName } from './journal.ts';
import { readRunHistory } from './run-history.ts';

const KEY = 'default/slow';
/** The wall clock is this much ahead of the monotonic one. */
const WALL_AHEAD_MS = 1_700_000_000_000;
const LEASE_MS = 15_000;

type Who = 'coordinator-0' | 'candidate-a' | 'candidate-b' | 'built-in';

/** A run that never was, recorded as the processes of a real one would. Times are in milliseconds. */
class MadeUpRun {
  readonly #journal: string[] = [];
  readonly #stored: string[] = [];
  readonly #audited: string[] = [];
  readonly #said = new Map<string, string[]>();
  #revision = 100;

  constructor() {
    this.journal(0, { kind: 'clock', wallMs: WALL_AHEAD_MS });
    for (const name of ['candidate-a', 'candidate-b']) {
      const lease = { lease: KEY, leaseDurationMs: LEASE_MS };
      this.journal(0, { kind: 'started', role: 'candidate', name, logFile: `${name}.log`, ...lease });
      this.#said.set(`${name}.log`, []);
    }
    const coordinator = { role: 'coordinator', name: 'coordinator-0', logFile: 'coordinator-0.log' } as const;
    this.journal(0, { kind: 'started', ...coordinator });
    this.#said.set('coordinator-0.log', []);
    this.lock(0, 'active');
  }

  journal(at: number, entry: JournalEntry): void {
    this.#journal.push(JSON.stringify({ at, ...entry }));
  }

  says(
    name: 'candidate-a' | 'candidate-b',
    at: number,
    event: 'leads' | 'renewed' | 'follows',
    sentAt = at - 1,
  ): void {
    this.#said.get(`${name}.log`)?.push(JSON.stringify({ event, at: at * 1e6, sentAt: sentAt * 1e6 }));
  }

  /** coordinator-0 says so, having claimed or renewed the lock a millisecond ago. */
  lock(at: number, state: 'active' | 'standby'): void {
    this.renewsLock(at - 1);
    this.#said
      .get('coordinator-0.log')
      ?.push(
        JSON.stringify({ time: iso(at), msg: 'The coordinator lock changed', state, holder: 'replica-0' }),
      );
  }

  renewsLock(at: number): void {
    const spec = { holderIdentity: 'replica-0', renewTime: micro(at) };
    this.#store('kube-system/leader-election-controller', at, spec, 'coordinator-0', {});
  }

  /** `who` writes the Lease at that moment, gets its answer 2 ms later, and the recorder hears of it between. */
  writes(who: Who, at: number, holder: string, times: Partial<WriteTimes> = {}): void {
    const spec = { holderIdentity: holder, renewTime: micro(at), leaseDurationSeconds: LEASE_MS / 1000 };
    this.#store(KEY, at, { ...spec, leaseTransitions: this.#revision }, who, times);
  }

  /** `who` writes the Lease as it is already: the server answers with the version that is there. */
  changesNothing(who: Who, at: number): void {
    this.#audit(KEY, who, { receivedAt: at - 1, answeredAt: at + 2, isAudited: true, status: 200 });
  }

  #store(key: string, at: number, spec: StoredObjectSpec, who: Who, times: Partial<WriteTimes>): void {
    this.#revision += 1;
    const [namespace = '', name = ''] = key.split('/');
    const object = { metadata: { uid: 'uid', namespace, name }, spec };
    const write: StoredWrite = { seenAt: at + 1, resource: 'leases', key, revision: this.#revision, object };
    this.#stored.push(JSON.stringify(write));
    this.#audit(key, who, {
      receivedAt: at - 1,
      answeredAt: at + 2,
      isAudited: true,
      status: 200,
      ...times,
    });
  }

  #audit(key: string, who: Who, { receivedAt, answeredAt, isAudited, status }: WriteTimes): void {
    const [namespace, name] = key.split('/');
    const common = {
      auditID: String(this.#audited.length),
      verb: 'update',
      user: userOf(who),
      userAgent: who,
      objectRef: { resource: 'leases', namespace, name },
      requestReceivedTimestamp: micro(receivedAt),
    };
    const answered = {
      stage: 'ResponseComplete',
      stageTimestamp: micro(answeredAt),
      responseStatus: { code: status },
      responseObject: status < 300 ? { metadata: { resourceVersion: String(this.#revision) } } : {},
    };
    this.#audited.push(
      JSON.stringify({ ...common, stage: 'RequestReceived', stageTimestamp: micro(receivedAt) }),
    );
    if (isAudited) this.#audited.push(JSON.stringify({ ...common, ...answered }));
  }

  async record(directory: string): Promise<void> {
    const files: readonly (readonly [string, readonly string[]])[] = [
      [journalName, this.#journal],
      [writesName, this.#stored],
      [auditLogName('a'), this.#audited],
      // As a killed server leaves it.
      [auditLogName('b'), ['{"auditID":"1","sta']],
      ...this.#said,
    ];
    for (const [name, lines] of files) await writeFile(join(directory, name), `${lines.join('\n')}\n`);
  }
}

interface WriteTimes {
  readonly receivedAt: number;
  readonly answeredAt: number;
  /** Whether the API server lived to record that it answered. */
  readonly isAudited: boolean;
  readonly status: number;
}

type StoredObjectSpec = NonNullable<StoredWrite['object']>['spec'];

function userOf(who: Who) {
  if (who === 'built-in') return { username: 'system:apiserver', uid: 'any' };
  if (who === 'coordinator-0') return { username: 'system:serviceaccount:kube-system:any', uid: who };
  return { username: 'candidate', uid: 'candidate' };
}

function iso(at: number): string {
  return new Date(WALL_AHEAD_MS + at).toISOString();
}

function micro(at: number): string {
  return iso(at).replace('Z', '000Z');
}

describe('the record of a run', () => {
  let directory: string;
  let run: MadeUpRun;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'chaos-record-'));
    run = new MadeUpRun();
  });
  afterEach(() => rm(directory, { recursive: true }));

  async function problems(): Promise<readonly string[]> {
    await run.record(directory);
    return (await judge(directory, 1)).problems;
  }

  /** The first leader is given the Lease at 1000, and begins to lead at 2003. */
  function candidateALeads(): void {
    run.writes('coordinator-0', 1000, 'candidate-a');
    run.writes('candidate-a', 2000, 'candidate-a');
    run.says('candidate-a', 2002, 'renewed', 1998);
    run.says('candidate-a', 2003, 'leads', 1998);
  }

  function candidateBLeads(at: number): void {
    run.writes('coordinator-0', at, 'candidate-b');
    run.writes('candidate-b', at + 1000, 'candidate-b');
    run.says('candidate-b', at + 1002, 'renewed', at + 998);
    run.says('candidate-b', at + 1003, 'leads', at + 998);
  }

  test('of a leader that is replaced after its time is judged to be all right', async () => {
    candidateALeads();
    run.renewsLock(9_000);
    run.says('candidate-a', 14_000, 'follows');
    candidateBLeads(17_010);
    expect(await problems()).toEqual([]);
  });

  test('of two leaders is judged to be wrong, be it that the first was frozen and could not tell', async () => {
    candidateALeads();
    run.renewsLock(9_000);
    candidateBLeads(15_900);
    expect(await problems()).toEqual([
      'coordinator-0 takes default/slow from candidate-a, which has renewed it in time',
      'coordinator-0 gives default/slow to "candidate-b" while candidate-a leads',
      'candidate-a and candidate-b both lead default/slow',
    ]);
  });

  test('lets nobody lead after its process has ended', async () => {
    candidateALeads();
    const ended = {
      role: 'candidate',
      name: 'candidate-a',
      logFile: 'candidate-a.log',
      how: 'SIGKILL',
    } as const;
    run.journal(3_000, { kind: 'ended', isOurs: true, ...ended });
    await run.record(directory);
    const { events } = await readRunHistory(directory);
    expect(events.filter(({ kind }) => kind === 'leads' || kind === 'follows')).toEqual([
      { kind: 'leads', at: 2003, who: 'candidate-a', key: KEY, until: 1998 + LEASE_MS },
      { kind: 'follows', at: 3000, who: 'candidate-a', key: KEY },
    ]);
  });

  test('blames two leaders on the built-in coordinator where that has given the Lease away', async () => {
    candidateALeads();
    run.writes('built-in', 5_000, 'candidate-b');
    run.writes('candidate-b', 6_000, 'candidate-b');
    run.says('candidate-b', 6_002, 'leads', 5_999);
    expect(await problems()).toEqual([]);
    expect((await judge(directory, 1)).summary).toContain('(built-in)');
  });

  test('of a coordinator that writes without the lock is judged to be wrong', async () => {
    candidateALeads();
    run.lock(3_000, 'standby');
    run.says('candidate-a', 14_000, 'follows');
    candidateBLeads(17_010);
    expect(await problems()).toEqual(['coordinator-0 writes default/slow without the lock']);
  });

  test('knows who wrote what the API server did not live to answer', async () => {
    run.writes('coordinator-0', 1000, 'candidate-a', { isAudited: false });
    await run.record(directory);
    const { events, unattributed } = await readRunHistory(directory);
    expect(events.find(({ kind }) => kind === 'lease')).toMatchObject({
      writer: { kind: 'coordinator', name: 'coordinator-0' },
    });
    expect(unattributed).toBe(0);
  });

  test('takes a renewal for as early, and a grant for as late, as it can have been', async () => {
    run.writes('candidate-a', 2000, 'candidate-a', { receivedAt: 1500, answeredAt: 2500 });
    run.writes('coordinator-0', 3000, 'candidate-b', { receivedAt: 2700, answeredAt: 3700 });
    await run.record(directory);
    const { events } = await readRunHistory(directory);
    // Later than when the recorder had heard of it, it cannot have been.
    expect(events.flatMap(({ kind, at }) => (kind === 'lease' ? [at] : []))).toEqual([1500, 3001]);
  });

  test('does not take a renewal that a candidate told of for one of which it had no answer', async () => {
    run.writes('candidate-a', 4000, 'candidate-a');
    run.says('candidate-a', 4002, 'renewed', 3999.5);
    run.writes('coordinator-0', 5000, 'candidate-b');
    run.writes('candidate-a', 6000, 'candidate-a', { receivedAt: 1500, isAudited: false });
    await run.record(directory);
    const { events } = await readRunHistory(directory);
    expect(events.flatMap(({ kind, at }) => (kind === 'lease' ? [at] : []))).toEqual([3999.5, 5001, 5001]);
  });

  test('believes no API server that answers with a failure that nothing will come of a request', async () => {
    run.writes('coordinator-0', 3000, 'candidate-a');
    run.writes('built-in', 9000, 'candidate-b', { receivedAt: 1000, answeredAt: 2000, status: 504 });
    await run.record(directory);
    const { events } = await readRunHistory(directory);
    expect(
      events.flatMap((event) => (event.kind === 'lease' ? [[event.at, event.writer.name]] : [])),
    ).toEqual([
      [3001, 'coordinator-0'],
      [9001, 'built-in a'],
    ]);
  });

  test.each([
    { name: 'was answered', isAudited: true },
    { name: 'was not answered', isAudited: false },
  ])(
    'does not take a request that changed nothing for one that wrote what it found, and $name',
    async ({ isAudited }) => {
      run.writes('coordinator-0', 3000, 'candidate-a', { isAudited });
      run.changesNothing('built-in', 4000);
      await run.record(directory);
      const { events, impossible } = await readRunHistory(directory);
      const writers = events.flatMap((event) => (event.kind === 'lease' ? [event.writer.name] : []));
      expect([writers, impossible]).toEqual([['coordinator-0'], 0]);
    },
  );

  test('that contradicts itself is judged to be wrong', async () => {
    candidateALeads();
    run.writes('candidate-a', 4000, 'candidate-a');
    run.writes('candidate-a', 3000, 'candidate-a');
    expect(await problems()).toContain('the record contradicts itself: 2 writes');
  });

  test('says that a write may have been given up if it took longer than its sender waits', async () => {
    run.writes('coordinator-0', 2000, 'candidate-a', { receivedAt: 1500 });
    run.writes('coordinator-0', 9000, 'candidate-b', { receivedAt: 4000 });
    await run.record(directory);
    const { events } = await readRunHistory(directory);
    const late = events.flatMap((event) => (event.kind === 'lease' ? [event.isLate ?? false] : []));
    expect(late).toEqual([false, true]);
  });

  test('of a coordinator that has ended by itself is judged to be wrong', async () => {
    candidateALeads();
    const ended = { role: 'coordinator', name: 'coordinator-0', logFile: 'coordinator-0.log' } as const;
    run.journal(3_000, { kind: 'ended', isOurs: false, how: 'code 1', ...ended });
    expect(await problems()).toEqual(['coordinator-0 has ended by itself: code 1']);
  });

  test('in which a fault never struck is judged to be wrong if the run was long', async () => {
    candidateALeads();
    run.journal(3_000, { kind: 'faultOver', fault: 'etcd killed', victim: 'etcd', struck: true });
    run.journal(4_000, { kind: 'faultOver', fault: 'etcd frozen', victim: 'etcd', struck: false });
    await run.record(directory);
    const { problems: found } = await judge(directory, 15);
    expect(found).toContain('never struck: etcd frozen');
    expect(found).not.toContain('never struck: etcd killed');
    expect((await judge(directory, 2)).problems).toEqual([]);
  });
});
