import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Elector } from '../../src/participant/elector.ts';
import type { ParticipateOptions } from '../../src/participant/participant-options.ts';
import type { ParticipantLogger } from '../../src/participant/participant-telemetry.ts';
import { ParticipantStage, untilAborted } from './participant-stage.ts';

let stage: ParticipantStage;
/** The warnings of the process. */
let warnings: string[];

beforeEach(() => {
  stage = new ParticipantStage();
  warnings = [];
  const listen = (warning: Error) => void warnings.push(`${warning.name}: ${warning.message}`);
  process.on('warning', listen);
  onTestFinished(() => void process.off('warning', listen));
});

const broken = () => {
  throw new Error('the disk is full');
};
const allBroken: ParticipantLogger = { debug: broken, info: broken, warn: broken, error: broken };

/** Leads for one term that has a conflict, stops, and releases the Lease. */
async function throughOneTerm(options: Partial<ParticipateOptions>): Promise<void> {
  const one = await stage.leading(options);
  await stage.clock.advance(20_000);
  one.connection.holdWatches(true);
  stage.writeLease({}, { labels: { other: 'label' } });
  await stage.clock.advance(3000);
  one.connection.holdWatches(false);
  await stage.clock.advance(20_000);
  expect(one.isLeading).toBe(true);
  expect(one.terms).toHaveLength(1);
  one.stopping.abort();
  await stage.clock.advance(100);
  expect(one.outcome).toBe('resolved');
  expect(one.term.signal.aborted).toBe(true);
  expect(stage.lease['holderIdentity']).toBe('');
  expect(stage.api.candidate('default/one')).toBeUndefined();
  expect(stage.clock.pendingTimers).toBe(0);
  await new Promise((resolve) => setImmediate(resolve));
}

describe('a participant leads and releases', () => {
  test('with a logger that throws on each call, and the process warns once', async () => {
    await throughOneTerm({ logger: allBroken });
    expect(warnings).toEqual([expect.stringContaining('The logger has thrown: the disk is full')]);
  });

  // As many calls as a term has.
  test.each([0, 1, 2, 3, 4])(
    'with a logger that throws once, after %i calls, and logs that',
    async (calls) => {
      const errors: object[] = [];
      let count = 0;
      const write = () => {
        if (count++ === calls) broken();
      };
      const logger: ParticipantLogger = {
        debug: write,
        info: write,
        warn: write,
        error: (fields, message) => errors.push({ ...fields, message }),
      };
      await throughOneTerm({ logger });
      expect(count).toBeGreaterThan(calls);
      expect(errors).toEqual([
        {
          err: expect.objectContaining({ message: 'the disk is full' }),
          lost: expect.any(String),
          message: 'The logger has thrown',
        },
      ]);
      expect(warnings).toEqual([]);
    },
  );

  test('with an onObserved that throws, and logs that', async () => {
    const errors: string[] = [];
    const logger = { ...allBroken, error: (_: object, message: string) => errors.push(message) };
    await throughOneTerm({ onObserved: broken, logger });
    expect(errors).toContain('onObserved has thrown');
    expect(warnings).toEqual([]);
  });

  test('with an onObserved that throws and no logger, and the process warns', async () => {
    await throughOneTerm({ onObserved: broken });
    expect(warnings[0]).toContain('onObserved has thrown: the disk is full');
  });
});

test('an elector leads and releases with metrics that throw, and logs that', async () => {
  const errors: string[] = [];
  const logger = {
    debug() {},
    info() {},
    warn() {},
    error: (_fields: object, message: string) => errors.push(message),
  };
  const stopping = new AbortController();
  const elector = new Elector(
    {
      client: stage.connect(),
      clock: stage.clock,
      lease: { namespace: 'default', name: 'checkout' },
      identity: 'one',
      timing: { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 },
      logger,
      metrics: { leads: broken, slowpathExercised: broken },
      isFollowing: false,
      resumeDelayMs: 0,
      onChange() {},
    },
    untilAborted,
  );
  const running = elector.run(stopping.signal);
  await stage.clock.advance(100);
  stage.grant('one');
  await stage.clock.advance(20_000);
  expect(elector.term?.signal.aborted).toBe(false);
  stopping.abort();
  await stage.clock.advance(100);
  await running;
  expect(stage.lease['holderIdentity']).toBe('');
  expect(new Set(errors)).toEqual(new Set(['The metrics have thrown']));
});
