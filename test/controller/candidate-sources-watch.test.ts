import { describe, expect, test } from 'vitest';
import { CandidateSourcesWatch } from '../../src/controller/candidate-sources-watch.ts';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { makeCandidateObject } from './make-objects.ts';
import { WatchedApi } from './watched-api.ts';

const NATIVE = 'coordination.k8s.io/v1beta1';
const CUSTOM = CUSTOM_API_VERSION;

class SourcesWorld extends WatchedApi {
  readonly watch: CandidateSourcesWatch;

  constructor({ native = true, custom = true, namespaces = [] as readonly string[] } = {}) {
    super();
    this.api.candidateVersions = native ? ['v1beta1'] : [];
    this.api.hasCustomCandidates = custom;
    this.watch = new CandidateSourcesWatch({
      client: this.connection,
      clock: this.clock,
      namespaces,
      handler: ({ type, object }) => this.told.push(`${type} ${object.source} ${object.name}`),
      onHidden: ({ source, name }) => this.told.push(`hidden ${source} ${name}`),
      onRevealed: () => {},
      onSynced: (apiVersion) => this.told.push(`synced ${apiVersion}`),
      onNotServed: () => this.told.push('not served'),
      onGone: (apiVersion) => this.told.push(`gone ${apiVersion}`),
      onSighted: () => {},
      onDiscoveryError: () => {},
      onError: () => {},
      observe: () => {},
    });
  }

  create(apiVersion: string, name: string): void {
    const path = `/apis/${apiVersion}/namespaces/default/leasecandidates`;
    this.api.handle('test', { method: 'POST', path, body: makeCandidateObject(name) });
  }

  /** Answers with `status` what is asked about candidates of one source. */
  refuse(apiVersion: string, status: number): void {
    this.fate = ({ path }) => (path === `/apis/${apiVersion}/leasecandidates` ? { outcome: status } : {});
  }

  async start(): Promise<this> {
    this.watch.start();
    await this.clock.advance(0);
    return this;
  }
}

describe('LeaseCandidates of two sources (rule 13)', () => {
  test.each([
    { native: true, custom: true, want: [NATIVE, CUSTOM] },
    { native: true, custom: false, want: [NATIVE] },
    { native: false, custom: true, want: [CUSTOM] },
  ])('are known once each source that is served is read (native $native, custom $custom)', async (served) => {
    const world = await new SourcesWorld(served).start();
    expect(world.watch.apiVersions).toEqual(served.want);
    expect(world.watch.hasSynced()).toBe(true);
    expect(world.told.filter((line) => line === 'not served')).toEqual([]);
  });

  test('are told of side by side, each with where it comes from', async () => {
    const world = new SourcesWorld();
    world.create(NATIVE, 'a');
    world.create(CUSTOM, 'b');
    await world.start();
    expect(world.told.filter((line) => line.startsWith('added')).sort()).toEqual([
      'added custom b',
      'added native a',
    ]);
    expect(world.watch.apiVersionOf('native')).toBe(NATIVE);
    expect(world.watch.apiVersionOf('custom')).toBe(CUSTOM);
  });

  test('are not known before it is known whether the other source is there', async () => {
    const world = new SourcesWorld({ native: false });
    world.fate = ({ path }) => (path === `/apis/${NATIVE}` ? { answerMs: 3000 } : {});
    await world.start();
    expect(world.told).toEqual([`synced ${CUSTOM}`]);
    expect(world.watch.hasSynced()).toBe(false);
    await world.clock.advance(3000);
    expect(world.watch.hasSynced()).toBe(true);
  });

  test('are not known before the slower one is read', async () => {
    const world = new SourcesWorld();
    world.fate = ({ path }) => (path === `/apis/${CUSTOM}/leasecandidates` ? { answerMs: 3000 } : {});
    await world.start();
    expect(world.watch.hasSynced()).toBe(false);
    await world.clock.advance(3000);
    expect(world.watch.hasSynced()).toBe(true);
  });

  test('are told to be served by none once, when neither is', async () => {
    const world = await new SourcesWorld({ native: false, custom: false }).start();
    await world.clock.advance(60_000);
    expect(world.told).toEqual(['not served']);
    expect(world.watch.hasSynced()).toBe(false);
  });

  test('of a source that comes later are found within 10 s', async () => {
    const world = await new SourcesWorld({ custom: false }).start();
    world.api.hasCustomCandidates = true;
    world.create(CUSTOM, 'b');
    await world.clock.advance(10_000);
    expect(world.told).toEqual([`synced ${NATIVE}`, 'added custom b', `synced ${CUSTOM}`]);
  });
});

describe('a source that may not be read', () => {
  test('does not keep those of the other one from being known', async () => {
    const world = new SourcesWorld();
    world.refuse(CUSTOM, 403);
    await world.start();
    expect(world.watch.hasSynced()).toBe(true);
    expect(world.watch.knows('default')).toBe(true);
  });

  test('is read once it may be, and counts from then on', async () => {
    const world = new SourcesWorld();
    world.create(CUSTOM, 'b');
    world.refuse(CUSTOM, 403);
    await world.start();
    world.fate = () => ({});
    await world.clock.advance(60_000);
    expect(world.told).toContain('added custom b');
    world.refuse(CUSTOM, 403);
    world.connection.breakWatches();
    await world.clock.advance(1000);
    expect(world.watch.hasSynced()).toBe(true);
  });

  test('and is the only one leaves nothing to be known', async () => {
    const world = new SourcesWorld({ native: false });
    world.refuse(CUSTOM, 403);
    await world.start();
    expect(world.watch.hasSynced()).toBe(false);
  });

  test('for another reason is waited for', async () => {
    const world = new SourcesWorld();
    world.refuse(CUSTOM, 500);
    await world.start();
    expect(world.watch.hasSynced()).toBe(false);
  });
});

describe('a source that goes', () => {
  test('takes its candidates along, and others are let go first for 20 s (rule 10)', async () => {
    const world = new SourcesWorld();
    world.create(NATIVE, 'a');
    await world.start();
    expect(world.watch.hasJustLostOne).toBe(false);
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    await world.clock.advance(1000);
    expect(world.told.filter((line) => /gone|hidden/.test(line))).toEqual([
      `gone ${NATIVE}`,
      'hidden native a',
    ]);
    expect([world.watch.hasJustLostOne, world.watch.hasSynced()]).toEqual([true, true]);
    await world.clock.advance(20_000);
    expect([world.watch.hasJustLostOne, world.watch.hasSynced()]).toEqual([false, true]);
  });

  test('and comes back at once keeps nobody from anything', async () => {
    const world = await new SourcesWorld().start();
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    await world.clock.advance(0);
    world.api.candidateVersions = ['v1beta1'];
    await world.clock.advance(20_000);
    expect([world.watch.hasJustLostOne, world.watch.hasSynced()]).toEqual([false, true]);
  });

  test('as soon as it is listed, again and again, is no loss: it was never known', async () => {
    const world = new SourcesWorld();
    world.refuse(NATIVE, 404);
    await world.start();
    for (let second = 0; second < 60; second++) {
      await world.clock.advance(1000);
      expect(world.watch.hasJustLostOne).toBe(false);
    }
    expect(world.watch.hasSynced()).toBe(true);
  });
});

describe('a source that went is missed', () => {
  async function lose(...names: readonly string[]): Promise<SourcesWorld> {
    const world = new SourcesWorld();
    for (const name of names) world.create(NATIVE, name);
    await world.start();
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    await world.clock.advance(1000);
    return world;
  }

  test('from when it went, where candidates were in it', async () => {
    const world = await lose('a', 'b');
    expect(world.watch.missedSince).toEqual([expect.any(Number)]);
    expect(world.watch.missedSince[0]).toBeLessThanOrEqual(1000);
  });

  test('until it is back', async () => {
    const world = await lose('a');
    world.api.candidateVersions = ['v1beta1'];
    await world.clock.advance(20_000);
    expect(world.watch.missedSince).toEqual([]);
  });

  test('for a day at most, as it may have been turned off on purpose', async () => {
    const world = await lose('a');
    await world.clock.advance(86_000_000);
    expect(world.watch.missedSince).toHaveLength(1);
    await world.clock.advance(400_000);
    expect(world.watch.missedSince).toEqual([]);
  });

  test('not where nobody was a candidate in it any more', async () => {
    const world = await lose();
    expect(world.watch.missedSince).toEqual([]);
  });
});
