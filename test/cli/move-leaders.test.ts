import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runDrain, runTransfer, runUndrain } from '../../src/cli/move-leaders.ts';
import type { Host } from '../../src/support/host.ts';
import {
  type LookingSite,
  lookingSettings,
  makeLookingHost,
  startLookingSite,
  timeAt,
} from './looking-site.ts';

const STRATEGY = 'OldestEmulationVersion';
const PRIORITY = 'coordinated-leader-election.dev/priority';

/** A Lease that `x-1` leads, with `x-2` beside it, and a coordinator that holds the lock but does nothing. */
async function startMovingSite(hasCoordinator = true): Promise<LookingSite> {
  const site = await startLookingSite();
  const renewed = { leaseDurationSeconds: 15, renewTime: timeAt(-1) };
  if (hasCoordinator) {
    const holderIdentity = 'coordinated-leader-election_x';
    await site.putLease('kube-system', 'leader-election-controller', { holderIdentity, ...renewed });
  }
  await site.putLease('default', 'x', { holderIdentity: 'x-1', strategy: STRATEGY, ...renewed });
  const versions = { binaryVersion: '1.36.0', emulationVersion: '1.36.0' };
  const candidate = { leaseName: 'x', renewTime: timeAt(-90), ...versions };
  await site.putCandidate('default', 'x-1', candidate);
  await site.putCandidate('default', 'x-2', candidate, { [PRIORITY]: '3' });
  return site;
}

const unselected = { allNamespaces: false, selector: undefined, node: undefined, candidate: undefined };
const soon = { forMs: 60_000, timeoutMs: 1 };

async function move(run: (host: Host) => Promise<number>) {
  const host = makeLookingHost();
  // Waiting takes time, although the wall clock stands still.
  const moving = { ...host, clock: { ...host.clock, now: () => performance.now() } };
  return { code: await run(moving), ...host.said };
}

let site: LookingSite;
beforeAll(async () => {
  site = await startMovingSite();
});
afterAll(() => site.stop());

const settings = () => lookingSettings(site.kubeconfig);

describe('a leader that does not move in time', () => {
  test('is reported by transfer, whose priority stays until undrain removes it', async () => {
    const { code, out } = await move((host) => runTransfer('x', { ...settings(), ...soon, to: 'x-2' }, host));
    expect(code).toBe(5);
    expect(out).toMatch(
      /^x-2 has the priority 1; waiting until it leads default\/x\.\nx-2 does not lead yet: AwaitingAcks\. .* Its priority stays; undrain takes it back\.\n$/,
    );
    const asJson = { ...settings(), ...soon, to: 'x-2', output: 'json' } as const;
    const { code: codeOfJson, out: json } = await move((host) => runTransfer('x', asJson, host));
    expect({ code: codeOfJson, ...JSON.parse(json) }).toEqual({
      code: 5,
      ...{ namespace: 'default', lease: 'x', candidate: 'x-2', formerLeader: 'x-1' },
      ...{ leads: false, priority: 1, until: timeAt(60) },
      why: expect.stringMatching(/^AwaitingAcks\. /),
    });
    const undrain = () => move((host) => runUndrain({ ...settings(), ...unselected, all: true }, host));
    expect(await undrain()).toMatchObject({ code: 0, out: 'default/x-2 has its own priority again.\n' });
    expect(await undrain()).toMatchObject({ code: 0, out: 'Nothing was set by drain or transfer there.\n' });
  });

  test('is reported by drain', async () => {
    const drained = { ...settings(), ...soon, ...unselected, candidate: 'x-1' };
    const candidates = [{ namespace: 'default', lease: 'x', name: 'x-1' }];
    const asJson = { ...drained, output: 'json' } as const;
    const { code: codeOfJson, out: json } = await move((host) => runDrain(asJson, host));
    expect({ code: codeOfJson, ...JSON.parse(json) }).toEqual({
      ...{ code: 5, candidates, until: timeAt(60) },
      leases: [
        {
          namespace: 'default',
          lease: 'x',
          from: 'x-1',
          why: expect.stringMatching(/^the timeout has passed\. Awaiting/),
        },
      ],
    });
    const undrain = () =>
      move((host) => runUndrain({ ...settings(), ...unselected, all: true, output: 'json' }, host));
    expect(JSON.parse((await undrain()).out)).toEqual({ candidates });
    expect(JSON.parse((await undrain()).out)).toEqual({ candidates: [] });
    const { code, out } = await move((host) => runDrain(drained, host));
    expect(code).toBe(5);
    expect(out).toMatch(
      /^1 candidate of 1 Lease drained, 1 of them leading\.\ndefault\/x stays with x-1: the timeout has passed\. AwaitingAcks\. .*[^.]\.\n$/,
    );
  });
});

test('drain reports that no candidate is selected, and changes nothing', async () => {
  const drained = { ...settings(), ...soon, ...unselected, selector: 'zone=b' };
  expect(await move((host) => runDrain(drained, host))).toMatchObject({
    code: 0,
    out: 'No LeaseCandidate has the labels zone=b; nothing was drained.\n',
  });
  const { code, out } = await move((host) => runDrain({ ...drained, output: 'json' }, host));
  expect({ code, ...JSON.parse(out) }).toEqual({ code: 0, candidates: [], leases: [] });
});

test('without a coordinator no leader moves, and the command reports this before it writes', async () => {
  const idle = await startMovingSite(false);
  onTestFinished(() => idle.stop());
  const at = lookingSettings(idle.kubeconfig);
  const transferred = await move((host) => runTransfer('x', { ...at, ...soon, to: 'x-2' }, host));
  expect(transferred).toMatchObject({
    code: 5,
    out: 'x-2 cannot lead default/x: no coordinator is running; doctor says more.\n',
  });
  const asJson = await move((host) => runTransfer('x', { ...at, ...soon, to: 'x-2', output: 'json' }, host));
  expect(JSON.parse(asJson.out)).toEqual({
    ...{ namespace: 'default', lease: 'x', candidate: 'x-2', formerLeader: 'x-1' },
    ...{ leads: false, why: 'no coordinator is running; doctor says more' },
  });
  const undrained = await move((host) => runUndrain({ ...at, ...unselected, all: true }, host));
  expect(undrained.out).toBe('Nothing was set by drain or transfer there.\n');
});

test('transfer reports that there is no such Lease, and in which other namespace there is one', async () => {
  const moving = move((host) => runTransfer('mistyped', { ...settings(), ...soon, to: 'x-2' }, host));
  await expect(moving).rejects.toThrow(
    'there is no Lease mistyped in namespace default, and no candidate for it; status -A lists all Leases with candidates, and audit -A lists every Lease',
  );
  const astray = { ...settings(), ...soon, namespace: 'elsewhere', to: 'x-2' };
  await expect(move((host) => runTransfer('x', astray, host))).rejects.toThrow(
    'there is no Lease x in namespace elsewhere, and no candidate for it; there is one with -n default',
  );
});

test('the missing permission to list the Pods of a node is reported', async () => {
  const native = lookingSettings(site.nativeKubeconfig);
  const draining = move((host) => runDrain({ ...native, ...soon, ...unselected, node: 'n' }, host));
  await expect(draining).rejects.toThrow(
    /403 Forbidden.* Ask for the right to list pods, or name a namespace/,
  );
});

test('the missing permission to patch candidates is reported', async () => {
  const reader = lookingSettings(site.readOnlyKubeconfig);
  await expect(move((host) => runTransfer('x', { ...reader, ...soon, to: 'x-2' }, host))).rejects.toThrow(
    /403.*Ask for the right to patch leasecandidates in coordination\.k8s\.io$/,
  );
});
