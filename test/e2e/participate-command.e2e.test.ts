import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, type TestContext, test } from 'vitest';
import { ownCandidatesPath } from '../control-plane/candidate-resource.ts';
import { readLease } from '../control-plane/cluster-objects.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { eventually } from './coordinator.ts';
import { startGatelessCluster } from './gateless-cluster.ts';
import { Ledger } from './ledger.ts';
import { type ParticipateProcess, participantKubeconfig, startParticipate } from './participate-process.ts';

const testTimeout = 300_000;
const quick = ['--lease-duration', '6s', '--renew-deadline', '4s', '--retry-period', '1s'] as const;
const LEASE_MS = 6000;

interface Cluster {
  readonly plane: ControlPlane;
  start(args: readonly string[]): ParticipateProcess;
}

/** A typical cluster: without the feature gate, with programs that have the chart's permissions of a participant. */
async function startCluster(context: TestContext): Promise<Cluster> {
  const { plane } = await startGatelessCluster('1.36.3', context);
  const kubeconfig = await participantKubeconfig(plane);
  return {
    plane,
    start(args) {
      const participate = startParticipate(kubeconfig, args);
      context.onTestFinished(() => participate.signal('SIGKILL'));
      return participate;
    },
  };
}

const holderOf = (plane: ControlPlane, name: string) =>
  readLease(plane, { namespace: 'default', name }).then((lease) => lease?.spec.holderIdentity);

async function candidatesOf(plane: ControlPlane): Promise<readonly string[]> {
  const list = await plane.request<{ items: { metadata: { name: string } }[] }>(
    'GET',
    ownCandidatesPath('default'),
  );
  return list.items.map(({ metadata }) => metadata.name);
}

describe('participate with a command', () => {
  test('never runs two at once, whatever happens to the wrappers', {
    timeout: testTimeout,
  }, async (context) => {
    const { plane, start } = await startCluster(context);
    const file = join(plane.directory, 'written');
    const ledger = new Ledger(file);
    const script = `exec >>${file}; while :; do echo "$CLE_FENCING_TOKEN $CLE_HOLDER"; sleep 0.01; done`;
    const wrap = (name: string) =>
      start(['web', '--identity', name, ...quick, '--', '/bin/sh', '-c', script]);
    const programs: Record<string, ParticipateProcess> = { a: wrap('a'), b: wrap('b') };
    const other = (name: string) => (name === 'a' ? 'b' : 'a');
    const leads = (name: string) =>
      eventually(() => ledger.writer === name || undefined, `${name} leads`, 40_000);

    let leader = await eventually(() => ledger.writer, 'one of them leads');

    // Its wrapper is killed: it cannot stop the command, which exits nevertheless.
    programs[leader]?.signal('SIGKILL');
    const killedAt = ledger.length;
    await programs[leader]?.ended;
    leader = other(leader);
    await leads(leader);
    expect(ledger.length).toBeGreaterThan(killedAt);
    programs[other(leader)] = wrap(other(leader));
    await programs[other(leader)]?.logged('Stands as candidate');

    // A release would have to wait while the former leader could still believe that it leads (rule 8).
    await sleep(LEASE_MS);

    // It is stopped cleanly: the other one need not wait until its Lease expires.
    programs[leader]?.signal('SIGTERM');
    const toldAt = performance.now();
    expect(await programs[leader]?.ended).toBe(143);
    leader = other(leader);
    await leads(leader);
    // It renews every second.
    expect(performance.now() - toldAt).toBeLessThan(LEASE_MS - 1500);
    programs[other(leader)] = wrap(other(leader));
    await programs[other(leader)]?.logged('Stands as candidate');

    // It stops before its Lease expires, and finds itself replaced.
    programs[leader]?.signal('SIGSTOP');
    const frozen = leader;
    leader = other(leader);
    await leads(leader);
    programs[frozen]?.signal('SIGCONT');
    await programs[frozen]?.logged('Leads no longer');
    await sleep(1000);
    expect(ledger.writer).toBe(leader);

    // It becomes a candidate again, and leads again in its turn.
    programs[leader]?.signal('SIGTERM');
    await leads(frozen);
    programs[frozen]?.signal('SIGTERM');
    expect(await programs[frozen]?.ended).toBe(143);
    await eventually(
      async () => (await candidatesOf(plane)).length === 0 || undefined,
      'no candidates are left',
    );

    expect(ledger.violations('web')).toEqual([]);
    expect(ledger.terms).toBeGreaterThanOrEqual(5);
  });
});

describe('participate without a command', () => {
  test('tells a program who leads, and follows the program’s state', {
    timeout: testTimeout,
  }, async (context) => {
    const { plane, start } = await startCluster(context);
    let isWell = false;
    const program = createServer((_request, response) => {
      response.writeHead(isWell ? 204 : 500).end();
    });
    await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve));
    context.onTestFinished(() => void program.close());
    const { port } = program.address() as AddressInfo;
    const sidecar = start([
      'web',
      ...['--identity', 'first', '--listen', '127.0.0.1:0'],
      ...['--ready-url', `http://127.0.0.1:${port}/readyz`, '--labels', 'zone=b', ...quick],
    ]);
    const isLeading = async () => (await sidecar.ask('/leader')).status === 200 || undefined;

    // It is no candidate before the program is healthy.
    await sidecar.logged('Takes part in the election');
    await sleep(3000);
    expect(await candidatesOf(plane)).toEqual([]);
    expect(await sidecar.ask('/leader')).toMatchObject({ status: 503 });
    isWell = true;
    await eventually(isLeading, 'it leads');
    expect(await sidecar.ask('/')).toEqual({ status: 200, body: '{"name":"first"}\n' });
    expect((await sidecar.ask('/metrics')).body).toContain('leader_election_master_status');

    // It yields when the program is unhealthy.
    isWell = false;
    await eventually(async () => ((await isLeading()) ? undefined : true), 'it does not lead');
    await eventually(
      async () => (await holderOf(plane, 'web')) === '' || undefined,
      'it has released the Lease',
    );
    await eventually(async () => (await candidatesOf(plane)).length === 0 || undefined, 'it is no candidate');
    isWell = true;
    await eventually(isLeading, 'it leads again');

    // The program gives up the lead: a second candidate can take it.
    const second = start(['web', '--identity', 'second', '--listen', '127.0.0.1:0', ...quick]);
    await second.logged('Stands as candidate');
    expect(await sidecar.ask('/resign', 'POST')).toMatchObject({ status: 200 });
    await eventually(async () => (await second.ask('/leader')).status === 200 || undefined, 'second leads');
    const knowsSecond = async () => {
      const { status, body } = await sidecar.ask('/');
      return (status === 200 && body === '{"name":"second"}\n') || undefined;
    };
    await eventually(knowsSecond, 'the first knows that second leads');

    // The leader ends last: its Lease has no successor.
    for (const each of [sidecar, second]) {
      each.signal('SIGTERM');
      expect(await each.ended).toBe(0);
    }
    expect(await candidatesOf(plane)).toEqual([]);
    expect(await holderOf(plane, 'web')).toBe('');
  });

  test('is the candidate of a program with its own elector', {
    timeout: testTimeout,
  }, async (context) => {
    const { plane, start } = await startCluster(context);
    const electors = await plane.startElectors();
    const candidate = start(['web', '--candidate-only', '--identity', 'go-1']);
    await electors.start({
      id: 'go-1',
      lease: 'web',
      mode: 'elector-only',
      leaseDuration: '6s',
      renewDeadline: '4s',
      retryPeriod: '1s',
    });
    await electors.waitFor({ id: 'go-1', event: 'startedLeading' });
    candidate.signal('SIGTERM');
    expect(await candidate.ended).toBe(0);
    expect(await candidatesOf(plane)).toEqual([]);
    // The program's work is its own.
    expect(await holderOf(plane, 'web')).toBe('go-1');
    expect(electors.leading()).toEqual(['go-1']);
  });
});
