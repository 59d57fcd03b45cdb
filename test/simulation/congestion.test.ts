import { describe, expect, test } from 'vitest';
import { CongestedWorld } from './congested-world.ts';

/**
 * Number of Leases whose leaders die at the same time. The server's capacity is proportional, so all times are the
 * same as for 1,000.
 */
const LEASES = Number(process.env['CLE_SIM_LEASES'] ?? 300);
const REQUESTS_PER_SECOND = 0.6 * LEASES;
/** The minimum cost of an election: two pings, two acks, one grant, and the first renewal by the new holder. */
const REQUESTS_PER_ELECTION = 6;
const DEATHS_MS = 10_000;

describe('an API server that answers 600 requests a second, and 1,000 Leases on it whose holders all die', () => {
  /*
   * 1,000 Leases that are renewed every 4 s expire within 14 s. Their elections need 6,000 requests, which is 430 per
   * second. The live leaders also renew: first 0, at the end 250 times per second. The load exceeds the capacity only
   * in the last seconds, and elections may begin at two thirds of a Lease, five seconds before it expires: so no
   * election has to be 5 s late. 1,000 Leases that are renewed every 10 s expire within 20 s, and live leaders renew
   * 100 times per second: capacity is left.
   */
  test.each([4000, 10_000])(
    'has each led again within 5 s of its expiry, if it was renewed every %i ms',
    async (renewEveryMs) => {
      const congested = new CongestedWorld({
        leases: LEASES,
        requestsPerSecond: REQUESTS_PER_SECOND,
        renewEveryMs,
      });
      await congested.start(15_000);
      await congested.endLeaders('crash', DEATHS_MS);
      await congested.runUntilLed(60_000);
      expect(congested.world.violations).toEqual([]);
      expect(Math.max(...congested.vacancies), congested.report).toBeLessThan(5000);
      expect(congested.misjudged, congested.report).toEqual([]);
    },
  );

  test('has leaders for them soon after it was ten times slower for a while, and no live one counts as dead', async () => {
    const renewEveryMs = 4000;
    const congested = new CongestedWorld({
      leases: LEASES,
      requestsPerSecond: REQUESTS_PER_SECOND,
      renewEveryMs,
    });
    await congested.start(15_000);
    const { coordinator } = congested;
    await congested.endLeaders('crash', DEATHS_MS);
    await congested.slowDown(10, 20_000);
    const recoveredAt = congested.world.clock.now();
    await congested.runUntilLed(60_000);
    // In the worst case, no election is over yet and all led Leases are renewed all the time; 5 s more are for an
    // election in progress.
    const forElections = REQUESTS_PER_SECOND - LEASES / (renewEveryMs / 1000);
    const boundMs = (1000 * REQUESTS_PER_ELECTION * LEASES) / forElections + 5000;
    expect(congested.world.violations).toEqual([]);
    expect(congested.coordinator).toBe(coordinator);
    expect(Math.max(...congested.ledAgainAfter(recoveredAt)), congested.report).toBeLessThan(boundMs);
    expect(congested.misjudged, congested.report).toEqual([]);
  });
});
