import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { candidatePath, type Lease, leasePath, microTime } from '../../control-plane/cluster-objects.ts';
import { type EmbeddedPlane, startEmbeddedPlane } from '../../control-plane/embedded-plane.ts';
import {
  type WatchedCandidate,
  type WatchedObjects,
  watchCandidates,
} from '../../control-plane/watched-objects.ts';
import { castOf } from './casts.ts';
import { type SimPrograms, startSimPrograms } from './sim-programs.ts';

const namespace = 'default';
const RENEW_EVERY_MS = 50;

describe('simulated programs', () => {
  let plane: EmbeddedPlane;
  let candidates: WatchedObjects<WatchedCandidate>;
  let programs: SimPrograms;
  let tests = 0;
  let lease = '';

  beforeAll(async () => {
    plane = await startEmbeddedPlane({ keepsData: false });
    candidates = await watchCandidates(plane);
  });
  afterAll(async () => {
    candidates.stop();
    await plane.stop();
  });
  beforeEach(async () => {
    tests += 1;
    lease = `component-${tests}`;
    programs = await startSimPrograms(plane, namespace);
  });
  afterEach(() => programs.stop());

  const readLease = () => plane.request<Lease>('GET', leasePath({ namespace, name: lease }));
  const ping = (name: string) =>
    plane.request('PATCH', candidatePath({ namespace, name }), { spec: { pingTime: microTime() } });

  async function untilRenewed(): Promise<Lease> {
    const { spec } = await readLease();
    for (;;) {
      const next = await readLease();
      if (next.spec.renewTime !== spec.renewTime) return next;
      await sleep(5);
    }
  }

  test('renew the Lease that one of them holds', async () => {
    await programs.start(castOf(lease, 2), RENEW_EVERY_MS);
    const { spec } = await untilRenewed();
    expect(spec.holderIdentity).toBe(`${lease}.30`);
    expect(spec.leaseDurationSeconds).toBe(15);
    expect(spec.strategy).toBe('OldestEmulationVersion');
  });

  test('take up a Lease that is granted to one of them', async () => {
    await programs.start(castOf(lease, 2), RENEW_EVERY_MS);
    const granted = { holderIdentity: `${lease}.31`, renewTime: microTime(), leaseDurationSeconds: 10 };
    await plane.request('PATCH', leasePath({ namespace, name: lease }), { spec: granted });
    const { spec } = await untilRenewed();
    expect(spec.holderIdentity).toBe(`${lease}.31`);
    expect(spec.leaseDurationSeconds).toBe(15);
  });

  test('renew no Lease for which another is preferred', async () => {
    await programs.start(castOf(lease, 2), RENEW_EVERY_MS);
    await untilRenewed();
    await plane.request('PATCH', leasePath({ namespace, name: lease }), {
      spec: { preferredHolder: `${lease}.31` },
    });
    // What was under way when it was written may still be refused.
    await sleep(2 * RENEW_EVERY_MS);
    const before = await readLease();
    await sleep(4 * RENEW_EVERY_MS);
    expect(await readLease()).toEqual(before);
  });

  test('answer pings, but for the silent ones', async () => {
    const [talkative, silent] = [`${lease}.a`, `${lease}.b`];
    await programs.start(
      [
        { name: talkative, lease, emulationVersion: '1.30.0' },
        { name: silent, lease, emulationVersion: '1.30.0', isSilent: true },
      ],
      RENEW_EVERY_MS,
    );
    await ping(silent);
    await ping(talkative);
    await candidates.waitFor(
      namespace,
      talkative,
      ({ spec }) => spec.pingTime !== undefined && (spec.renewTime ?? '') >= spec.pingTime,
    );
    const { renewTime = '', pingTime = '' } = candidates.current(namespace, silent)?.spec ?? {};
    expect(renewTime < pingTime).toBe(true);
  });

  test('renew and answer nothing after a crash, and tell when the Lease expires', async () => {
    await programs.start(castOf(lease, 1), RENEW_EVERY_MS);
    await untilRenewed();
    const expiresAt = await programs.crash(`${lease}.30`);
    const { spec } = await readLease();
    expect(expiresAt).toBe(Date.parse(spec.renewTime ?? '') + 15_000);
    await ping(`${lease}.30`);
    await sleep(4 * RENEW_EVERY_MS);
    expect((await readLease()).spec).toEqual(spec);
    expect(await programs.countAcks()).toBe(0);
  });

  test('release a Lease as client-go does', async () => {
    await programs.start(castOf(lease, 1), RENEW_EVERY_MS);
    await programs.release(`${lease}.30`);
    const { spec } = await readLease();
    expect(spec.holderIdentity).toBe('');
    expect(spec.leaseDurationSeconds).toBe(1);
    expect(spec.strategy).toBeUndefined();
  });

  test('delete candidates when told to', async () => {
    await programs.start(castOf(lease, 2), RENEW_EVERY_MS);
    await programs.remove([`${lease}.31`]);
    await candidates.waitFor(namespace, `${lease}.31`, (_, type) => type === 'DELETED');
    expect(candidates.current(namespace, `${lease}.30`)).toBeDefined();
  });

  test('refuse to act for a program that holds no Lease', async () => {
    await programs.start(castOf(lease, 2), RENEW_EVERY_MS);
    await expect(programs.crash(`${lease}.31`)).rejects.toThrow('holds no Lease');
  });
});
