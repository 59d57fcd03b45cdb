import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { surveyEach } from '../../src/controller/elections-survey.ts';
import { registerLeaseMetrics } from '../../src/telemetry/lease-metrics.ts';
import { defaultSettings, makeCandidate, makeLease, makeNow } from '../support/election-builders.ts';

function makeMeasured() {
  const registry = new Registry();
  const records = new ElectionRecords(defaultSettings);
  registerLeaseMetrics(registry, () => surveyEach(records, () => 'LeaderOptimal', makeNow(1000)));
  return {
    records,
    async samples(): Promise<string[]> {
      const lines = (await registry.metrics()).split('\n');
      return lines.filter((line) => line !== '' && !line.startsWith('#'));
    },
  };
}

describe('the series of single Leases', () => {
  test('tell who leads each Lease, and how many candidates of which state it has', async () => {
    const { records, samples } = makeMeasured();
    const [one, two] = [makeCandidate('one').build(), makeCandidate('two').build()];
    records.seeLease('kube-system/scheduler', makeLease('one').preferring('three').build(), makeNow(0));
    records.seeCandidate(one, makeNow(0));
    records.seeCandidate({ ...two, name: 'three' }, makeNow(0));
    records.seeCandidate({ ...two, leaseName: 'other' }, makeNow(0));
    const scheduler = 'lease_namespace="kube-system",lease="scheduler"';
    const other = 'lease_namespace="kube-system",lease="other"';
    const led = 'holder="one",preferred_holder="three",strategy="OldestEmulationVersion"';
    const unled = 'holder="",preferred_holder="",strategy=""';
    expect(await samples()).toEqual([
      `cle_lease_info{${scheduler},${led},reason="LeaderOptimal"} 1`,
      `cle_lease_info{${other},${unled},reason="LeaderOptimal"} 1`,
      `cle_lease_has_leader{${scheduler}} 1`,
      `cle_lease_has_leader{${other}} 0`,
      `cle_lease_candidates{${scheduler},state="Live"} 1`,
      `cle_lease_candidates{${scheduler},state="Idle"} 1`,
      `cle_lease_candidates{${other},state="Idle"} 1`,
    ]);
  });

  test('go with the candidates of a Lease', async () => {
    const { records, samples } = makeMeasured();
    const candidate = makeCandidate('one').build();
    records.seeCandidate(candidate, makeNow(0));
    expect(await samples()).not.toEqual([]);
    records.dropCandidate(candidate, makeNow(0));
    expect(await samples()).toEqual([]);
  });
});
