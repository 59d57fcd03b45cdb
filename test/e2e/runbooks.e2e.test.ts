import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunbookName, runbooks } from '../../src/inspection/findings.ts';
import { procedures } from '../support/procedures.ts';
import { leaseApiServerSlow } from './runbooks/scenarios/lease-api-server-slow.ts';
import { leaseCandidatesUnresponsive } from './runbooks/scenarios/lease-candidates-unresponsive.ts';
import { leaseCoordinatorAbsent } from './runbooks/scenarios/lease-coordinator-absent.ts';
import { leaseCoordinatorApiOff } from './runbooks/scenarios/lease-coordinator-api-off.ts';
import { leaseCoordinatorLockFlapping } from './runbooks/scenarios/lease-coordinator-lock-flapping.ts';
import { leaseCoordinatorNotAlone } from './runbooks/scenarios/lease-coordinator-not-alone.ts';
import { leaseCoordinatorWatchStale } from './runbooks/scenarios/lease-coordinator-watch-stale.ts';
import { leaseCoordinatorWriteErrors } from './runbooks/scenarios/lease-coordinator-write-errors.ts';
import { leaseElectionsSlow } from './runbooks/scenarios/lease-elections-slow.ts';
import { leaseStrategyConflict } from './runbooks/scenarios/lease-strategy-conflict.ts';
import { leaseWithoutLeader } from './runbooks/scenarios/lease-without-leader.ts';
import { slowZone } from './runbooks/scenarios/slow-zone.ts';
import { PATIENCE_MS, type Site, startSite } from './runbooks/site.ts';

type Scenario = (site: Site) => Promise<void>;

// Most of each scenario waits for an alert. For each cluster: the scenarios that run in parallel because they do not
// affect others, and those that run one after the other. The clusters also run in parallel.
const clusters: readonly (readonly (readonly Scenario[])[])[] = [
  [
    [leaseCoordinatorWatchStale],
    [leaseStrategyConflict, slowZone],
    [leaseWithoutLeader],
    [leaseCandidatesUnresponsive],
  ],
  [[leaseElectionsSlow, leaseCoordinatorWriteErrors]],
  [[leaseCoordinatorLockFlapping, leaseCoordinatorAbsent, leaseApiServerSlow]],
  [[leaseCoordinatorApiOff, leaseCoordinatorNotAlone]],
];

const tests: readonly { readonly alert: RunbookName; readonly when: string; readonly scenario: Scenario }[] =
  [
    {
      alert: 'LeaseWithoutLeader',
      when: 'all pods of a component hang, and then are removed for good',
      scenario: leaseWithoutLeader,
    },
    {
      alert: 'LeaseStrategyConflict',
      when: 'a canary asks for another strategy',
      scenario: leaseStrategyConflict,
    },
    {
      alert: 'LeaseCandidatesUnresponsive',
      when: 'all pods but the leader hang',
      scenario: leaseCandidatesUnresponsive,
    },
    {
      alert: 'LeaseCoordinatorAbsent',
      when: 'the coordinator is scaled to nothing, and then deleted',
      scenario: leaseCoordinatorAbsent,
    },
    {
      alert: 'LeaseCoordinatorLockFlapping',
      when: 'two tools quarrel about the Deployment',
      scenario: leaseCoordinatorLockFlapping,
    },
    {
      alert: 'LeaseCoordinatorWriteErrors',
      when: 'a right is taken away, and then admission refuses',
      scenario: leaseCoordinatorWriteErrors,
    },
    {
      alert: 'LeaseCoordinatorWatchStale',
      when: 'a role is trimmed, and a pod replaced',
      scenario: leaseCoordinatorWatchStale,
    },
    {
      alert: 'LeaseCoordinatorWatchStale',
      when: 'the API is turned off',
      scenario: leaseCoordinatorApiOff,
    },
    {
      alert: 'LeaseCoordinatorNotAlone',
      when: 'a second release has a lock of its own',
      scenario: leaseCoordinatorNotAlone,
    },
    {
      alert: 'LeaseElectionsSlow',
      when: 'elections wait for a candidate that hangs',
      scenario: leaseElectionsSlow,
    },
    {
      alert: 'LeaseApiServerSlow',
      when: 'a webhook takes its time over every write of a Lease',
      scenario: leaseApiServerSlow,
    },
  ];

const sites: Promise<Site>[] = [];
const outcomes = new Map<Scenario, Promise<void>>();

beforeAll(() => {
  for (const lines of clusters) {
    const site = startSite();
    sites.push(site);
    for (const line of lines) runInTurn(site, line);
  }
});

/** Each starts when the previous one has ended, even if that failed. */
function runInTurn(site: Promise<Site>, scenarios: readonly Scenario[]): void {
  let previous: Promise<unknown> = site;
  for (const scenario of scenarios) {
    const outcome = Promise.allSettled([previous]).then(async () => scenario(await site));
    outcome.catch(() => {}); // Its own test reports the error.
    outcomes.set(scenario, outcome);
    previous = outcome;
  }
}

async function startedSites(): Promise<readonly Site[]> {
  const started = await Promise.allSettled(sites);
  return started.flatMap((site) => (site.status === 'fulfilled' ? site.value : []));
}

afterAll(async () => {
  await Promise.allSettled(outcomes.values());
  await Promise.all((await startedSites()).map((site) => site.stop()));
}, 300_000);

describe('an alert fires, and its runbook leads to the cause and clears it', () => {
  test.each(tests)(
    '$alert: $when',
    async ({ scenario }) => {
      await outcomes.get(scenario);
    },
    3 * PATIENCE_MS,
  );
});

describe('a runbook without an alert reaches its goal', () => {
  test(
    'a zone becomes slow: its leaders are moved, and the remaining ones are reported',
    async () => {
      await outcomes.get(slowZone);
    },
    PATIENCE_MS,
  );
});

describe('every command is run', () => {
  test.each([...runbooks, ...procedures])('of %s', async (name) => {
    const opened = await Promise.all((await startedSites()).map((site) => site.runbook(name)));
    const [first = [], ...others] = opened.map((runbook) => runbook.left());
    expect(first.filter((command) => others.every((left) => left.includes(command)))).toEqual([]);
  });
});
