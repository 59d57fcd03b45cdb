import { describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { surveyTenure } from '../../src/election/view.ts';
import { defaultSettings, makeCandidate, makeLease, makeNow } from '../support/election-builders.ts';

const KEY = 'kube-system/scheduler';

/** The records of a Lease that b took from a at 1 s: a may release the Lease of b until 31 s. */
function recordsOfTheft(): ElectionRecords {
  const records = new ElectionRecords(defaultSettings);
  records.seeCandidate(makeCandidate('a').build(), makeNow(0));
  records.seeLease(KEY, makeLease('a').renewedAt(0).build(), makeNow(0));
  for (const at of [1000, 30_000]) records.seeLease(KEY, makeLease('b').renewedAt(at).build(), makeNow(at));
  return records;
}

describe('a release that the watch shows after a former holder may have written it (rule 8)', () => {
  test.each([
    { name: 'is trusted while the watch has no gaps', endedAt: undefined, isTrusted: true },
    { name: 'is doubted after a gap: it may be 10 s old', endedAt: 32_000, isTrusted: false },
    { name: 'is doubted for 20 s after the end of a watch', endedAt: 15_001, isTrusted: false },
    { name: 'is trusted again 20 s after the end of a watch', endedAt: 15_000, isTrusted: true },
  ])('$name', ({ endedAt, isTrusted }) => {
    const records = recordsOfTheft();
    if (endedAt !== undefined) records.seeWatchEnd('', makeNow(endedAt));
    records.seeLease(KEY, makeLease().releasedAt(35_000).build(), makeNow(35_000));
    const { lease, reservation } = { reservation: undefined, ...surveyTenure(records.gather(KEY), 35_000) };
    expect(lease?.holderIdentity).toBe('');
    expect(reservation === undefined).toBe(isTrusted);
  });
});
