import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import {
  createElectionTraces,
  MAX_OF_A_KIND,
  type TraceSpan,
  tracedResults,
} from '../../src/telemetry/election-traces.ts';
import { MAX_NAMED } from '../../src/telemetry/lease-event.ts';
import { isLeaseWrite, isPing } from '../controller/make-controller.ts';
import { makeCandidateObject } from '../controller/make-objects.ts';
import { blocksIn } from '../support/command-blocks.ts';
import { makeCandidate, makeInput, makeNow } from '../support/election-builders.ts';
import { makeReportedWorld } from './make-reported.ts';
import { traceText, traceTree } from './trace-text.ts';

const KEY = 'default/scheduler';
const LEASE = 'lease.namespace=default lease.name=scheduler';
const OLDEST = 'strategy=OldestEmulationVersion';

function makeTracedWorld(...parts: Parameters<typeof makeReportedWorld>) {
  const reported = makeReportedWorld(...parts);
  return { ...reported, texts: () => reported.traces.map(traceText) };
}

/** `a` leads since 0 s and has renewed its Lease, for 15 s, at 2 s; how it was elected is told no more. */
async function makeLedWorld() {
  const traced = makeTracedWorld();
  const { world, traces } = traced;
  await world.start();
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  await world.clock.advance(2000);
  world.change('leases', KEY, { renewTime: world.wallText, leaseDurationSeconds: 15 });
  await world.clock.advance(0);
  traces.length = 0;
  return traced;
}

describe('an election has one trace', () => {
  test('from the ping that it waited for to the answer to its write', async () => {
    const { world, texts } = makeTracedWorld();
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(1500);
    expect(texts()).toEqual([]);
    world.fate = () => ({ answerMs: 20 });
    world.renew('default/a');
    await world.clock.advance(20);
    expect(texts()).toEqual([
      [
        `0.000..1.520 election ${LEASE} result=granted reason=LeaseMissing holder=a ${OLDEST} candidate_count=1 attempts=1`,
        '  0.000 need',
        '  0.000 decide reason=AwaitingAcks actions=[PingCandidate a]',
        '  1.500 decide reason=LeaseMissing actions=[CreateLease] candidates=[a 1.36.0/1.36.0: Live]',
        '  0.000..1.500 ping candidate=a purpose=election result=answered',
        '  1.500..1.520 write action=CreateLease result=ok',
      ],
    ]);
  });

  test('after an expiry: with the pings ahead of it, and why each of the others lost', async () => {
    const { world, texts } = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.37.0' }));
    world.create('leasecandidates', makeCandidateObject('c', { renewedAt: 2000, version: '1.38.0' }));
    world.create('leasecandidates', makeCandidateObject('d', { renewedAt: 2000, version: '1.39.0' }));
    await world.clock.advance(12_500);
    world.renew('default/b');
    await world.clock.advance(2500);
    expect(texts()).toEqual([
      [
        `14.000..17.000 election ${LEASE} result=granted reason=LeaseExpired holder=b former_holder=a ${OLDEST} candidate_count=4 attempts=1`,
        '  17.000 need',
        '  17.000 decide reason=LeaseExpired actions=[UpdateLease grant] candidates=[a 1.36.0/1.36.0: Awaiting; ' +
          'b 1.37.0/1.37.0: Live; c 1.38.0/1.38.0: Idle, HigherEmulationVersion; d 1.39.0/1.39.0: Idle, HigherEmulationVersion]',
        '  14.000..17.000 ping candidate=a purpose=expiry result=unawaited',
        '  14.000..14.500 ping candidate=b purpose=expiry result=answered',
        '  17.000..17.000 write action=UpdateLease grant result=ok',
      ],
    ]);
  });

  test('after a release; it waits for nobody whose answer could change nothing', async () => {
    const { world, texts } = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: -60_000, version: '1.37.0' }));
    world.create('leasecandidates', makeCandidateObject('c', { renewedAt: -60_000, version: '1.38.0' }));
    await world.clock.advance(1000);
    world.change('leases', KEY, {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      renewTime: world.wallText,
      strategy: null,
    });
    await world.clock.advance(50);
    world.renew('default/b');
    await world.clock.advance(0);
    expect(texts()).toEqual([
      [
        `3.000..3.050 election ${LEASE} result=granted reason=LeaseReleased holder=b former_holder=a ${OLDEST} candidate_count=3 attempts=1`,
        '  3.000 need',
        '  3.000 decide reason=AwaitingAcks actions=[PingCandidate b; PingCandidate c]',
        '  3.050 decide reason=LeaseReleased actions=[UpdateLease grant] candidates=[a 1.36.0/1.36.0: Withdrawn; ' +
          'b 1.37.0/1.37.0: Live; c 1.38.0/1.38.0: Awaiting, HigherEmulationVersion]',
        '  3.000..3.050 ping candidate=b purpose=election result=answered',
        '  3.000..3.050 ping candidate=c purpose=election result=unawaited',
        '  3.050..3.050 write action=UpdateLease grant result=ok',
      ],
    ]);
  });

  test('when a better one is preferred, and another one when the holder has yielded', async () => {
    const { world, texts } = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.35.0' }));
    for (let answers = 0; answers < 15; answers++) {
      await world.clock.advance(1000);
      world.renew('default/b');
    }
    await world.clock.advance(0);
    expect(texts()).toEqual([
      [
        `2.000..3.000 election ${LEASE} result=preferred reason=BetterCandidate holder=a preferred_holder=b ${OLDEST} candidate_count=2 attempts=1`,
        '  2.000 need',
        '  2.000 decide reason=AwaitingAcks actions=[PingCandidate b]',
        '  3.000 decide reason=BetterCandidate actions=[UpdateLease prefer] candidates=[' +
          'a 1.36.0/1.36.0: Live, HigherEmulationVersion; b 1.35.0/1.35.0: Live]',
        '  2.000..3.000 ping candidate=b purpose=preemption result=answered',
        '  3.000..3.000 write action=UpdateLease prefer result=ok',
      ],
      [
        `15.000..17.000 election ${LEASE} result=granted reason=LeaseExpired holder=b former_holder=a ${OLDEST} candidate_count=2 attempts=1`,
        '  17.000 need',
        '  17.000 decide reason=LeaseExpired actions=[UpdateLease grant] candidates=[a 1.36.0/1.36.0: Idle, HigherEmulationVersion; ' +
          'b 1.35.0/1.35.0: Live]',
        '  15.000..15.000 ping candidate=b purpose=preemption result=answered',
        '  17.000..17.000 write action=UpdateLease grant result=ok',
      ],
    ]);
  });

  test('when a grant is revised, for as long as that is held back', async () => {
    const { world, texts } = makeTracedWorld();
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(300);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 300, version: '1.35.0' }));
    await world.clock.advance(400);
    world.create('leasecandidates', makeCandidateObject('c', { renewedAt: 700, version: '1.34.0' }));
    await world.clock.advance(1300);
    const [, ...revisions] = texts();
    expect(revisions).toEqual([
      [
        `0.300..0.300 election ${LEASE} result=revised reason=GrantRevised holder=b former_holder=a ${OLDEST} candidate_count=2 attempts=1`,
        '  0.300 need',
        '  0.300 decide reason=GrantRevised actions=[UpdateLease grant] candidates=[' +
          'a 1.36.0/1.36.0: Live, HigherEmulationVersion; b 1.35.0/1.35.0: Live]',
        '  0.300..0.300 write action=UpdateLease grant result=ok',
      ],
      [
        `0.700..1.900 election ${LEASE} result=revised reason=GrantRevised holder=c former_holder=b ${OLDEST} candidate_count=3 attempts=1`,
        '  0.700 need',
        '  0.700 decide reason=RevisionPending actions=[]',
        '  1.900 decide reason=GrantRevised actions=[UpdateLease grant] candidates=[' +
          'a 1.36.0/1.36.0: Live, HigherEmulationVersion; b 1.35.0/1.35.0: Live, HigherEmulationVersion; ' +
          'c 1.34.0/1.34.0: Live]',
        '  1.900..1.900 write action=UpdateLease grant result=ok',
      ],
    ]);
  });

  test('when a Lease was deleted: for as long as its holder is waited for', async () => {
    const { world, texts } = await makeLedWorld();
    world.remove('leases', KEY);
    await world.clock.advance(1000);
    world.renew('default/a');
    await world.clock.advance(0);
    expect(texts()).toEqual([
      [
        `2.000..3.000 election ${LEASE} result=granted reason=FormerHolderAnswered holder=a former_holder=a ${OLDEST} candidate_count=1 attempts=1`,
        '  2.000 need',
        '  2.000 decide reason=AwaitingFormerHolder actions=[PingCandidate a]',
        '  3.000 decide reason=FormerHolderAnswered actions=[CreateLease] candidates=[a 1.36.0/1.36.0: Live]',
        '  2.000..3.000 ping candidate=a purpose=election result=answered',
        '  3.000..3.000 write action=CreateLease result=ok',
      ],
    ]);
  });

  test('for all attempts to write, conflicts and failures among them', async () => {
    const { world, texts } = await makeLedWorld();
    await world.clock.advance(12_500);
    world.renew('default/a');
    let attempts = 0;
    world.fate = (request) => {
      if (!isLeaseWrite(request)) return {};
      attempts++;
      if (attempts === 1) world.change('leases', KEY, { note: 'changed' });
      return attempts === 2 ? { outcome: 500 } : {};
    };
    await world.clock.advance(3000);
    const [text = [], ...others] = texts();
    expect(others).toEqual([]);
    expect(text[0]).toContain('result=granted reason=LeaseExpired');
    expect(text[0]).toContain('attempts=3');
    expect(text.filter((line) => line.includes(' decide '))).toHaveLength(3);
    expect(
      text.filter((line) => line.includes(' write ')).map((line) => line.replace(/^\S* *\S+ /, '')),
    ).toEqual([
      'write action=UpdateLease grant result=conflict status_code=409',
      'write action=UpdateLease grant result=error status_code=500 ' +
        'ERROR PATCH /apis/coordination.k8s.io/v1/namespaces/default/leases/scheduler was answered 500: simulated',
      'write action=UpdateLease grant result=ok',
    ]);
  });

  test('with each ping that the server did not take, once', async () => {
    const { world, texts } = makeTracedWorld();
    await world.start();
    let pings = 0;
    world.fate = (request) => (isPing(request) ? { outcome: [500, 422][pings++] ?? 200 } : {});
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(2000);
    world.renew('default/a');
    await world.clock.advance(0);
    const [text = []] = texts();
    expect(
      text.filter((line) => line.includes(' ping ')).map((line) => line.replace(/ERROR.*/, 'ERROR')),
    ).toEqual([
      expect.stringMatching(/ping candidate=a purpose=election result=failed status_code=500 ERROR/),
      expect.stringMatching(/ping candidate=a purpose=election result=failed status_code=422 ERROR/),
    ]);
  });
});

describe('a ping', () => {
  test('that the server took long to write is given up on as late as the election does', async () => {
    const { world, texts } = makeTracedWorld();
    await world.start();
    world.fate = (request) => (isPing(request) ? { answerMs: 3000 } : {});
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(11_000);
    const [text = []] = texts();
    expect(text[0]).toMatch(/^0\.000\.\.11\.000 election .* result=undecided reason=NoLiveCandidates/);
    expect(text.filter((line) => line.includes(' ping '))).toEqual([
      '  0.000..11.000 ping candidate=a purpose=election result=unanswered',
    ]);
  });

  test('that failed after something else had been decided is told once, from when it was sent', async () => {
    const { world, texts } = makeTracedWorld({ workers: 8 });
    await world.start();
    let pings = 0;
    world.fate = (request) =>
      isPing(request) && request.path.endsWith('/a') && pings++ === 0 ? { answerMs: 1000, outcome: 500 } : {};
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000, version: '1.35.0' }));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: -60_000 }));
    await world.clock.advance(300);
    world.renew('default/b');
    await world.clock.advance(1200);
    world.renew('default/a');
    await world.clock.advance(0);
    const [text = []] = texts();
    expect(
      text.filter((line) => line.includes(' ping ')).map((line) => line.replace(/ ERROR.*/, '')),
    ).toEqual([
      '  0.000..0.300 ping candidate=b purpose=election result=answered',
      '  0.000..1.000 ping candidate=a purpose=election result=failed status_code=500',
      expect.stringMatching(/^ {2}1\.0\d\d\.\.1\.500 ping candidate=a purpose=election result=answered$/),
    ]);
  });

  test('that lay there for long tells of a candidate that came back, and is not part of the election', async () => {
    const { world, texts } = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: -16 * 60_000, version: '1.37.0' }));
    const keepRenewing = () => {
      world.renewLease(KEY);
      world.clock.setTimer(keepRenewing, 2000);
    };
    const before = world.ourWriteLines.length;
    keepRenewing();
    await world.clock.advance(300_000);
    expect(world.ourWriteLines.slice(before)).toContain('PATCH leasecandidates default/b 200');
    world.renew('default/b');
    world.change('leases', KEY, {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      renewTime: '2026-01-01T01:00:00.000000Z',
    });
    await world.clock.advance(0);
    const [text = []] = texts();
    expect(text[0]).toMatch(/^302\.000\.\.302\.000 election .* result=granted reason=LeaseReleased holder=b/);
    expect(text.filter((line) => line.includes(' ping '))).toEqual([]);
  });
});

describe('an election that nobody wins', () => {
  test('ends when that is found; what follows has no trace until it comes to something else', async () => {
    const { world, texts } = await makeLedWorld();
    await world.clock.advance(300_000);
    const undecided = [
      `14.000..19.000 election ${LEASE} result=undecided reason=NoLiveCandidates candidate_count=1 attempts=0 ERROR NoLiveCandidates`,
      '  17.000 need',
      '  17.000 decide reason=AwaitingAcks actions=[]',
      '  19.000 decide reason=NoLiveCandidates actions=[] candidates=[a 1.36.0/1.36.0: Unresponsive]',
      '  14.000..19.000 ping candidate=a purpose=expiry result=unanswered',
    ];
    expect(texts()).toEqual([undecided]);
    await world.clock.advance(20_000);
    world.renew('default/a');
    await world.clock.advance(0);
    expect(texts()).toHaveLength(2);
    const [, granted = []] = texts();
    expect(granted[0]).toContain('result=granted reason=LeaseExpired holder=a');
    expect(granted).toContain('  322.000 need');
    expect(granted.filter((line) => line.includes(' ping '))).toEqual([
      expect.stringMatching(/^ {2}\d+\.000\.\.322\.000 ping candidate=a purpose=revival result=answered$/),
    ]);
  });

  test('as its candidates disagree has one trace, however often they are asked again', async () => {
    const { world, texts } = makeTracedWorld();
    world.create(
      'leasecandidates',
      makeCandidateObject('a', { renewedAt: 0, spec: { strategy: 'x.io/one' } }),
    );
    world.create(
      'leasecandidates',
      makeCandidateObject('b', { renewedAt: 0, spec: { strategy: 'x.io/two' } }),
    );
    await world.start();
    for (let answers = 0; answers < 300; answers++) {
      await world.clock.advance(1000);
      for (const name of ['a', 'b']) world.renew(`default/${name}`);
    }
    expect(texts()).toEqual([
      [
        `0.000..0.000 election ${LEASE} result=undecided reason=StrategyConflict conflicting_strategies=[x.io/one; x.io/two] ` +
          'candidate_count=2 attempts=0 ERROR StrategyConflict',
        '  0.000 need',
        '  0.000 decide reason=StrategyConflict actions=[] candidates=[a 1.36.0/1.36.0: Live, conflict; ' +
          'b 1.36.0/1.36.0: Live, conflict]',
      ],
    ]);
  });

  test('as the holder is the best one after all leaves the Lease unchanged', async () => {
    const { world, texts } = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: -60_000, version: '1.35.0' }));
    await world.clock.advance(3000);
    world.renewLease(KEY);
    await world.clock.advance(2000);
    expect(texts()).toEqual([
      [
        `2.000..7.000 election ${LEASE} result=unchanged reason=LeaderOptimal holder=a ${OLDEST} candidate_count=2 attempts=0`,
        '  2.000 need',
        '  2.000 decide reason=AwaitingAcks actions=[PingCandidate b]',
        '  7.000 decide reason=LeaderOptimal actions=[] candidates=[a 1.36.0/1.36.0: Live; b 1.35.0/1.35.0: Unresponsive]',
        '  2.000..7.000 ping candidate=b purpose=preemption result=unanswered',
      ],
    ]);
  });

  test('ends when there is neither a Lease nor a candidate any more', async () => {
    const { world, texts } = makeTracedWorld();
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(1000);
    world.remove('leasecandidates', 'default/a');
    await world.clock.advance(0);
    expect(texts().map(([root]) => root)).toEqual([
      `0.000..1.000 election ${LEASE} result=unchanged reason=AwaitingAcks candidate_count=1 attempts=0`,
    ]);
  });
});

describe('a trace is bounded', () => {
  test('in time: an election that goes on is cut', async () => {
    const { world, texts } = await makeLedWorld();
    const answer = () => {
      world.renew('default/a');
      world.clock.setTimer(answer, 4000);
    };
    world.clock.setTimer(answer, 10_000);
    world.fate = (request) => (isLeaseWrite(request) ? { outcome: 500 } : {});
    await world.clock.advance(25 * 60_000);
    const roots = texts().map(([root]) => root ?? '');
    expect(roots).toHaveLength(2);
    for (const root of roots) expect(root).toContain('result=unfinished reason=LeaseExpired strategy=');
    const [first = [], second = []] = roots.map((root) => root.split(' ')[0]?.split('..').map(Number));
    expect(second[0]).toBe(first[1]);
    // After ten minutes, with the next decision.
    for (const [from = 0, to = 0] of [first, second]) {
      expect(to - from).toBeGreaterThanOrEqual(600);
      expect(to - from).toBeLessThan(608);
    }
  });

  test('in its number of parts of each kind; the last decision is one of them', () => {
    const traces: TraceSpan[] = [];
    let at = 0;
    const tracer = createElectionTraces({
      now: () => at,
      isDryRun: false,
      emit: (trace) => traces.push(trace),
    });
    const candidates = Array.from({ length: MAX_OF_A_KIND + 1 }, (_, index) =>
      makeCandidate(`c${index}`).seenAt(0).pingedAt(0).renewedAt(0.5),
    );
    const input = makeInput()
      .candidates(...candidates)
      .build();
    const decision = decideElection(input, makeNow(1));
    const [action] = decision.actions;
    if (!action) throw new Error('there is somebody to elect');
    for (at = 1; at <= MAX_OF_A_KIND + 2; at++) {
      const isLast = at === MAX_OF_A_KIND + 2;
      tracer.decided(KEY, decision, input);
      tracer.written(KEY, action, isLast ? undefined : new Error('refused'), decision);
    }
    const [trace] = traces;
    const count = (name: string) =>
      [...(trace?.events ?? []), ...(trace?.children ?? [])].filter((part) => part.name === name).length;
    expect(['ping', 'decide', 'write'].map(count)).toEqual([MAX_OF_A_KIND, MAX_OF_A_KIND, MAX_OF_A_KIND]);
    expect(trace?.attributes).toMatchObject({
      'cle.result': 'granted',
      'cle.candidate_count': MAX_OF_A_KIND + 1,
      'cle.attempts': MAX_OF_A_KIND + 2,
    });
    expect(trace?.children.at(-1)).toMatchObject({ attributes: { 'cle.result': 'ok' } });
    expect(trace?.events.at(-1)).toMatchObject({ at: trace?.endedAt });
    expect(trace?.events.at(-1)?.attributes['cle.candidates']).toHaveLength(MAX_NAMED);
  });
});

describe('an election that this process does not end', () => {
  test('is unfinished as soon as it may decide no longer, and is another one when it decides again', async () => {
    const { world, texts, tracer } = makeTracedWorld();
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(1000);
    world.mayWrite = false;
    tracer.standDown();
    expect(texts()).toEqual([
      [
        `0.000..1.000 election ${LEASE} result=unfinished reason=AwaitingAcks candidate_count=1 attempts=0`,
        '  0.000 need',
        '  0.000 decide reason=AwaitingAcks actions=[PingCandidate a] candidates=[a 1.36.0/1.36.0: Awaiting]',
        '  0.000..1.000 ping candidate=a purpose=election result=unawaited',
      ],
    ]);
    await world.clock.advance(3_600_000);
    world.mayWrite = true;
    world.renew('default/a');
    await world.clock.advance(0);
    const [, granted = []] = texts();
    expect(granted[0]).toContain('result=granted');
    expect(granted).toContain('  3601.000 need');
  });
});

describe('a dry run', () => {
  test('has one trace of what it would write, for as long as that is the same', async () => {
    const { world, texts } = makeTracedWorld({ isDryRun: true });
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(4000);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 4000, version: '1.37.0' }));
    await world.clock.advance(60_000);
    // By now it would have to ask them. One has renewed since, and would still be the one.
    world.renew('default/a');
    await world.clock.advance(0);
    expect(world.leaseSpec()).toEqual({});
    expect(texts()).toEqual([
      [
        `0.000..0.000 election ${LEASE} result=planned reason=LeaseMissing holder=a ${OLDEST} candidate_count=1 attempts=0`,
        '  0.000 need',
        '  0.000 decide reason=LeaseMissing actions=[CreateLease] candidates=[a 1.36.0/1.36.0: Live]',
      ],
    ]);
  });
});

describe('the documentation', () => {
  const documentation = () => readFile(new URL('../../docs/tracing.md', import.meta.url), 'utf8');

  test('shows a trace as it is', async () => {
    const { world, traces } = await makeLedWorld();
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.37.0' }));
    world.create('leasecandidates', makeCandidateObject('c', { renewedAt: 2000, version: '1.38.0' }));
    await world.clock.advance(12_018);
    world.renew('default/b');
    world.fate = (request) => (isLeaseWrite(request) ? { answerMs: 4 } : {});
    await world.clock.advance(5000);
    const [trace] = traces;
    if (!trace) throw new Error('there is no trace');
    const [picture] = blocksIn(await documentation()).filter(({ language }) => language === 'text');
    expect(picture?.text).toBe(traceTree(trace));
  });

  test('names every attribute and every result', async () => {
    const text = await documentation();
    const { world, traces } = await makeLedWorld();
    world.fate = (request) => (isPing(request) ? { outcome: 500 } : {});
    await world.clock.advance(60_000);
    world.fate = () => ({});
    world.create(
      'leasecandidates',
      makeCandidateObject('b', { renewedAt: 62_000, spec: { strategy: 'x.io/y' } }),
    );
    await world.clock.advance(60_000);
    const attributes = traces.flatMap((trace) =>
      [trace, ...trace.events, ...trace.children].flatMap((part) => Object.keys(part.attributes)),
    );
    expect(attributes.length).toBeGreaterThan(0);
    for (const name of [...new Set(attributes), ...tracedResults]) expect(text).toContain(`\`${name}\``);
  });
});
