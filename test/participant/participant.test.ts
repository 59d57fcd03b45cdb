import { beforeEach, describe, expect, test } from 'vitest';
import { NOTES } from '../../src/coordination/lease.ts';
import { TermOver } from '../../src/participant/term.ts';
import { specOf } from '../simulation/sim-api-server.ts';
import { ParticipantStage, StagedParticipant, untilAborted } from './participant-stage.ts';

let stage: ParticipantStage;

beforeEach(() => {
  stage = new ParticipantStage();
});

/** A participant that leads. */
async function leader(
  ...args: ConstructorParameters<typeof StagedParticipant> extends [unknown, ...infer R] ? R : never
) {
  const one = new StagedParticipant(stage, ...args).start();
  await stage.clock.advance(100);
  stage.grant('one');
  await stage.clock.advance(10);
  expect(one.isLeading).toBe(true);
  return one;
}

function whyOver({ signal }: { readonly signal: AbortSignal }): string | undefined {
  return signal.aborted && signal.reason instanceof TermOver ? signal.reason.why : undefined;
}

describe('a participant', () => {
  test('publishes a candidate, and leads from the first renewal of a grant on', async () => {
    const one = new StagedParticipant(stage).start();
    await stage.clock.advance(100);
    expect(specOf(stage.api.candidate('default/one'))).toMatchObject({
      leaseName: 'checkout',
      binaryVersion: '1.4.2',
      emulationVersion: '1.4.2',
      strategy: 'OldestEmulationVersion',
    });
    stage.grant('one', { leaseTransitions: 7 });
    await stage.clock.advance(0);
    expect(one.isLeading).toBe(true);
    expect(one.term).toMatchObject({
      holder: 'one',
      fencingToken: 7,
      lease: { namespace: 'default', name: 'checkout' },
    });
    expect(stage.lease).toMatchObject({ leaseDurationSeconds: 15, leaseTransitions: 7 });
    expect(one.term.until()).toBe(15_000);
  });

  test('renews every retry period, and leads no longer than its last renewal lasts', async () => {
    const one = await leader();
    await stage.clock.advance(60_000);
    expect(one.isLeading).toBe(true);
    expect(stage.leaseWrites).toHaveLength(31);
    expect(one.terms).toHaveLength(1);
  });

  test.each([
    ['a field', { preferredHolder: 'two' }, {}],
    ['a note', {}, { annotations: { [NOTES.preferredHolder]: 'two' } }],
  ])(
    'asked by %s to give way ends, then releases, and keeps what others have written',
    async (_, spec, metadata) => {
      let isDone = false;
      const one = await leader({}, async (term) => {
        await untilAborted(term);
        await new Promise<void>((resolve) => void stage.clock.setTimer(resolve, 3000));
        isDone = true;
      });
      stage.writeLease(spec, metadata);
      await stage.clock.advance(2900);
      expect(whyOver(one.term)).toBe('yielded');
      expect(stage.lease['holderIdentity']).toBe('one');
      expect(one.term.until()).toBeGreaterThan(0);
      expect(isDone).toBe(false);
      await stage.clock.advance(200);
      expect(isDone).toBe(true);
      expect(stage.lease).toMatchObject({
        holderIdentity: '',
        leaseDurationSeconds: 1,
        strategy: 'OldestEmulationVersion',
        ...spec,
      });
      expect(stage.rawLease?.metadata).toMatchObject(metadata);
      expect(one.term.until()).toBe(0);
    },
  );

  test('stopped ends, then releases, then deletes its candidate', async () => {
    const one = await leader();
    one.stopping.abort();
    await stage.clock.advance(10);
    expect(one.outcome).toBe('resolved');
    expect(whyOver(one.term)).toBe('stopped');
    expect(stage.lease['holderIdentity']).toBe('');
    expect(stage.api.candidate('default/one')).toBeUndefined();
    const last = stage.api.writes.slice(-2).map(({ resource, method }) => `${method} ${resource}`);
    expect(last).toEqual(['PUT leases', 'DELETE leasecandidates']);
    expect(stage.clock.pendingTimers).toBe(0);
  });
});
