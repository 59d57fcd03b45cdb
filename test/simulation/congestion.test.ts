import { describe, expect, test } from 'vitest';
import { CongestedWorld } from './congested-world.ts';

/** How many Leases die at once. The server's capacity is in proportion, so that all times stay what they are for 1,000. */
const LEASES = Number(process.env['CLE_SIM_LEASES'] ?? 300);
const REQUESTS_PER_SECOND = 0.6 * LEASES;
/** What an election cannot do without: two pings, two acks, one grant, and the new holder's first renewal. */
const REQUESTS_PER_ELECTION = 6;
const DEATHS_MS = 10_000;

describe('an API server that answers 600 requests a second, and 1,000 Leases on it whose holders all die', () => {
  /*
   * Renewed every 4 s, 1,000 Leases run out over 14 s. Their elections need 6,000 requests, 430 a second; beside them the
   * living renew, at first none and 250 times a second at the end. That is more than there is for the last seconds only,
   * and elections may begin at two thirds of a Lease, five seconds before it runs out: so none has to be 5 s late.
   * Renewed every 10 s, they run out over 20 s, and the living renew 100 times a second: there is room to spare.
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

  test('has them led soon after it was ten times slower for a while, and nobody alive is taken for dead', async () => {
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
    // At worst no election is over by then, and all that are led renew all the time; and 5 s for an election that is under way.
    const forElections = REQUESTS_PER_SECOND - LEASES / (renewEveryMs / 1000);
    const boundMs = (1000 * REQUESTS_PER_ELECTION * LEASES) / forElections + 5000;
    expect(congested.world.violations).toEqual([]);
    expect(congested.coordinator).toBe(coordinator);
    expect(Math.max(...congested.ledAgainAfter(recoveredAt)), congested.report).toBeLessThan(boundMs);
    expect(congested.misjudged, congested.report).toEqual([]);
  });
});
