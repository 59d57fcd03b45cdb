import { expect, test } from 'vitest';
import { drainCandidates } from '../../src/moving/moves.ts';
import { makeCandidateObject, makeLeaseObject } from '../controller/make-objects.ts';
import { SimApiServer } from '../simulation/sim-api-server.ts';
import { SimConnection } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { defaultSettings } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

test.each(['a', 'b', 'c'])(
  'a drain sets the priority of the leader last (%s), so that no drained candidate follows it',
  async (leader) => {
    const clock = new VirtualClock();
    const api = new SimApiServer(clock);
    for (const name of ['a', 'b', 'c'])
      api.store.create('leasecandidates', makeCandidateObject(name, { renewedAt: 0 }));
    api.store.create('leases', makeLeaseObject(leader, 0));
    const told: string[] = [];
    await drainCandidates(
      { kind: 'all' },
      {
        client: new SimConnection(api, new SimProcess(clock), 'on-call'),
        clock,
        settings: defaultSettings,
        lockNamespace: 'kube-system',
        namespace: 'default',
        forMs: 60_000,
        timeoutMs: 0,
        tell: (line) => told.push(line),
      },
    );
    const written = api.writes.map(({ key }) => key.replace('default/', ''));
    expect(written.toSorted()).toEqual(['a', 'b', 'c']);
    expect(written.at(-1)).toBe(leader);
    expect(told[0]).toBe('3 candidates of 1 Lease drained, 1 of them leading.');
  },
);
