import { describe, expect, test } from 'vitest';
import { CandidateSourcesWatch, CandidateWatch } from '../../src/controller/watches.ts';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { makeCandidateObject } from './make-objects.ts';
import { WatchedApi } from './watched-api.ts';

const NATIVE = 'coordination.k8s.io/v1beta1';
const CUSTOM = CUSTOM_API_VERSION;

class SourcesWorld extends WatchedApi {
  readonly watch: CandidateSourcesWatch;
  /** What hasSynced() returned at the last onSyncChange(). */
  announced = false;

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
      onSyncChange: () => {
        this.announced = this.watch.hasSynced();
      },
      observe: (event) => {
        if (event.type === 'synced' || event.type === 'gone')
          this.told.push(`${event.type} ${event.apiVersion}`);
        if (event.type === 'notServed') this.told.push('not served');
      },
    });
  }

  create(apiVersion: string, name: string): void {
    const path = `/apis/${apiVersion}/namespaces/default/leasecandidates`;
    this.api.handle('test', { method: 'POST', path, body: makeCandidateObject(name) });
  }

  /** Answers requests for candidates of one source with `status`. */
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
  ])('are known when each served source is listed (native $native, custom $custom)', async (served) => {
    const world = await new SourcesWorld(served).start();
    expect(world.watch.apiVersions).toEqual(served.want);
    expect(world.watch.hasSynced()).toBe(true);
    expect(world.told.filter((line) => line === 'not served')).toEqual([]);
  });

  test('are reported together, each with its source', async () => {
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

  test('are unknown until discovery of the other source has ended', async () => {
    const world = new SourcesWorld({ native: false });
    world.fate = ({ path }) => (path === `/apis/${NATIVE}` ? { answerMs: 3000 } : {});
    await world.start();
    expect(world.told).toEqual([`synced ${CUSTOM}`]);
    expect(world.watch.hasSynced()).toBe(false);
    await world.clock.advance(3000);
    expect(world.watch.hasSynced()).toBe(true);
  });

  test('are unknown until the slower one is listed', async () => {
    const world = new SourcesWorld();
    world.fate = ({ path }) => (path === `/apis/${CUSTOM}/leasecandidates` ? { answerMs: 3000 } : {});
    await world.start();
    expect(world.watch.hasSynced()).toBe(false);
    await world.clock.advance(3000);
    expect(world.watch.hasSynced()).toBe(true);
  });

  test('are reported as not served once, when neither source is served', async () => {
    const world = await new SourcesWorld({ native: false, custom: false }).start();
    await world.clock.advance(60_000);
    expect(world.told).toEqual(['not served']);
    expect(world.watch.hasSynced()).toBe(false);
  });

  test('of a source that appears later are found within 10 s', async () => {
    const world = await new SourcesWorld({ custom: false }).start();
    world.api.hasCustomCandidates = true;
    world.create(CUSTOM, 'b');
    await world.clock.advance(10_000);
    expect(world.told).toEqual([`synced ${NATIVE}`, 'added custom b', `synced ${CUSTOM}`]);
  });
});

describe('a forbidden source', () => {
  test('does not delay the other one', async () => {
    const world = new SourcesWorld();
    world.refuse(CUSTOM, 403);
    await world.start();
    expect(world.watch.hasSynced()).toBe(true);
    expect(world.watch.knows('default')).toBe(true);
  });

  test('is listed when it is allowed, and counts from then on', async () => {
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

  test('that is the only one leaves everything unknown', async () => {
    const world = new SourcesWorld({ native: false });
    world.refuse(CUSTOM, 403);
    await world.start();
    expect(world.watch.hasSynced()).toBe(false);
  });

  test('with another error is waited for', async () => {
    const world = new SourcesWorld();
    world.refuse(CUSTOM, 500);
    await world.start();
    expect(world.watch.hasSynced()).toBe(false);
  });
});

describe('a source that disappears', () => {
  test('before its first list, while discovery fails, no longer delays the other one', async () => {
    const world = new SourcesWorld();
    let discoveries = 0;
    world.fate = ({ path }) => {
      if (path === `/apis/${CUSTOM}/leasecandidates`) return { answerMs: 3000, outcome: 404 };
      return path === `/apis/${CUSTOM}` && discoveries++ > 0 ? { outcome: 503 } : {};
    };
    await world.start();
    expect([world.watch.hasSynced(), world.announced]).toEqual([false, false]);
    await world.clock.advance(4000);
    expect([world.watch.hasSynced(), world.announced]).toEqual([true, true]);
  });

  test('removes its candidates, and this replica lets others coordinate for 20 s (rule 10)', async () => {
    const world = new SourcesWorld();
    world.create(NATIVE, 'a');
    await world.start();
    expect(world.watch.hasJustLostSource).toBe(false);
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    await world.clock.advance(1000);
    expect(world.told.filter((line) => /gone|hidden/.test(line))).toEqual([
      `gone ${NATIVE}`,
      'hidden native a',
    ]);
    expect([world.watch.hasJustLostSource, world.watch.hasSynced()]).toEqual([true, true]);
    await world.clock.advance(20_000);
    expect([world.watch.hasJustLostSource, world.watch.hasSynced()]).toEqual([false, true]);
  });

  test('and comes back at once has no effect', async () => {
    const world = await new SourcesWorld().start();
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    await world.clock.advance(0);
    world.api.candidateVersions = ['v1beta1'];
    await world.clock.advance(20_000);
    expect([world.watch.hasJustLostSource, world.watch.hasSynced()]).toEqual([false, true]);
  });

  test('after each list, again and again, is no loss: it was never known', async () => {
    const world = new SourcesWorld();
    world.refuse(NATIVE, 404);
    await world.start();
    for (let second = 0; second < 60; second++) {
      await world.clock.advance(1000);
      expect(world.watch.hasJustLostSource).toBe(false);
    }
    expect(world.watch.hasSynced()).toBe(true);
  });
});

describe('a lost source is reported', () => {
  async function lose(...names: readonly string[]): Promise<SourcesWorld> {
    const world = new SourcesWorld();
    for (const name of names) world.create(NATIVE, name);
    await world.start();
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    await world.clock.advance(1000);
    return world;
  }

  test('from its loss, if it had candidates', async () => {
    const world = await lose('a', 'b');
    expect(world.watch.missingSince).toEqual([expect.any(Number)]);
    expect(world.watch.missingSince[0]).toBeLessThanOrEqual(1000);
  });

  test('until it is back', async () => {
    const world = await lose('a');
    world.api.candidateVersions = ['v1beta1'];
    await world.clock.advance(20_000);
    expect(world.watch.missingSince).toEqual([]);
  });

  test('for a day at most, because an administrator may have turned it off', async () => {
    const world = await lose('a');
    await world.clock.advance(86_000_000);
    expect(world.watch.missingSince).toHaveLength(1);
    await world.clock.advance(400_000);
    expect(world.watch.missingSince).toEqual([]);
  });

  test('not if it had no candidates any more', async () => {
    const world = await lose();
    expect(world.watch.missingSince).toEqual([]);
  });
});

const short = (apiVersion: string) => apiVersion.replace('coordination.k8s.io/', '');
const LIST = /\/leasecandidates$/;

class WatchWorld extends WatchedApi {
  readonly watch: CandidateWatch;

  constructor(namespaces: readonly string[] = []) {
    super();
    this.watch = new CandidateWatch({
      client: this.connection,
      clock: this.clock,
      source: 'native',
      namespaces,
      handler: ({ type, object }) => this.told.push(`${type} ${object.namespace}/${object.name}`),
      onHidden: ({ namespace, name }) => this.told.push(`hidden ${namespace}/${name}`),
      onSyncChange: () => {},
      observe: (event) => {
        if (event.type === 'synced' || event.type === 'gone')
          this.told.push(`${event.type} ${short(event.apiVersion)}`);
        if (event.type === 'notServed') this.told.push('not served');
        if (event.type === 'discoveryFailed')
          this.told.push(`discovery failed ${event.error instanceof ApiError ? event.error.status : ''}`);
      },
    });
  }

  create(name: string, namespace = 'default'): void {
    const [version] = this.api.candidateVersions;
    const path = `/apis/coordination.k8s.io/${version}/namespaces/${namespace}/leasecandidates`;
    this.api.handle('test', { method: 'POST', path, body: makeCandidateObject(name, { namespace }) });
  }

  countLists(): number {
    return this.api.requests.filter((request) => LIST.test(request)).length;
  }
}

describe.each([
  { served: ['v1beta1'], want: 'v1beta1' },
  { served: ['v1alpha2'], want: 'v1alpha2' },
  { served: ['v1alpha1'], want: 'v1alpha1' },
  { served: ['v1alpha1', 'v1beta1', 'v1alpha2'], want: 'v1beta1' },
  { served: ['v1alpha1', 'v1alpha2'], want: 'v1alpha2' },
])('of the versions $served (rule 11)', ({ served, want }) => {
  test(`${want} is watched`, async () => {
    const world = new WatchWorld();
    world.api.candidateVersions = served;
    world.create('a');
    world.watch.start();
    await world.clock.advance(0);
    expect(world.told).toEqual(['added default/a', `synced ${want}`]);
    expect(world.watch.apiVersion).toBe(`coordination.k8s.io/${want}`);
    expect(world.watch.knows('')).toBe(true);
    expect(world.api.requests.filter((request) => LIST.test(request) && request.startsWith('us'))).toEqual([
      `us GET /apis/coordination.k8s.io/${want}/leasecandidates`,
    ]);
  });
});

describe('without a served version (rule 11)', () => {
  test('this is reported once, and discovery is repeated', async () => {
    const world = new WatchWorld();
    world.api.candidateVersions = [];
    world.watch.start();
    await world.clock.advance(35_000);
    expect(world.told).toEqual(['not served']);
    expect(world.watch.apiVersion).toBeUndefined();
    expect(world.watch.knows('')).toBe(false);
    expect(world.watch.isUnavailable('')).toBe(true);
    const looks = world.api.requests.filter((request) => request.endsWith('/v1beta1'));
    expect(looks).toHaveLength(4);
    world.api.candidateVersions = ['v1beta1'];
    world.create('a');
    await world.clock.advance(10_000);
    expect(world.told).toEqual(['not served', 'added default/a', 'synced v1beta1']);
  });

  test('a discovery error is not "not served"', async () => {
    const world = new WatchWorld();
    world.fate = () => ({ outcome: 503 });
    world.watch.start();
    await world.clock.advance(0);
    expect(world.told).toEqual(['discovery failed 503']);
    world.fate = () => ({});
    await world.clock.advance(10_000);
    expect(world.told.at(-1)).toBe('synced v1beta1');
  });
});

describe('a version that has disappeared (rule 11)', () => {
  test('removes its candidates; another version is found and reported', async () => {
    const world = new WatchWorld();
    world.create('a');
    world.watch.start();
    await world.clock.advance(0);
    world.api.candidateVersions = ['v1alpha2'];
    world.connection.breakWatches();
    await world.clock.advance(20_000);
    expect(world.told).toEqual([
      'added default/a',
      'synced v1beta1',
      'gone v1beta1',
      'hidden default/a',
      'added default/a',
      'synced v1alpha2',
    ]);
    expect(world.connection.openWatches).toBe(1);
  });

  test('and leaves none is reported once, and so is its next disappearance', async () => {
    const world = new WatchWorld();
    world.watch.start();
    await world.clock.advance(0);
    for (const _ of [1, 2]) {
      world.api.candidateVersions = [];
      world.connection.breakWatches();
      await world.clock.advance(40_000);
      world.api.candidateVersions = ['v1beta1'];
      await world.clock.advance(40_000);
    }
    expect(world.told).toEqual([
      ...['synced v1beta1', 'gone v1beta1', 'not served'],
      ...['synced v1beta1', 'gone v1beta1', 'not served'],
      'synced v1beta1',
    ]);
  });

  test('after a watch for a while is discovered again at once, whatever the first discovery took', async () => {
    const world = new WatchWorld();
    world.fate = ({ path }) => (LIST.test(path) ? { outcome: 404 } : {});
    world.watch.start();
    await world.clock.advance(60_000);
    world.fate = () => ({});
    await world.clock.advance(20_000);
    expect(world.told).toEqual(['synced v1beta1']);
    world.api.candidateVersions = ['v1alpha2'];
    world.connection.breakWatches();
    await world.clock.advance(1000);
    expect(world.told.slice(1)).toEqual(['gone v1beta1', 'synced v1alpha2']);
  });

  test('while discovery still lists it causes no storm of requests', async () => {
    const world = new WatchWorld();
    const listedAt: number[] = [];
    // During an upgrade, one API server behind the address serves it and another does not.
    world.fate = ({ path }) => {
      if (!LIST.test(path)) return { answerMs: 5 };
      listedAt.push(world.clock.now());
      return { answerMs: 5, outcome: 404 };
    };
    world.watch.start();
    await world.clock.advance(60_000);
    const gaps = listedAt.slice(1).map((at, index) => at - (listedAt[index] ?? 0));
    // Each round takes 10 ms. The pauses in between double up to the regular interval of discovery.
    const pauses = [75, 150, 300, 600, 1200, 2400, 4800, ...Array.from({ length: 6 }, () => 7500)];
    expect(gaps).toEqual(pauses.map((ms) => ms + 10));
    world.fate = () => ({});
    await world.clock.advance(15_000);
    expect(world.told.at(-1)).toBe('synced v1beta1');
  });
});

describe('several namespaces', () => {
  test('are known one by one, as they are listed', async () => {
    const world = new WatchWorld(['one', 'two']);
    world.create('a', 'one');
    world.create('b', 'two');
    world.create('c', 'three');
    world.fate = ({ path }) => (path.includes('/two/') ? { answerMs: 1000 } : {});
    world.watch.start();
    await world.clock.advance(500);
    const known = () => ['one', 'two', 'three'].filter((namespace) => world.watch.knows(namespace));
    expect(world.told).toEqual(['added one/a']);
    expect(known()).toEqual(['one']);
    await world.clock.advance(500);
    expect(world.told.slice(1)).toEqual(['added two/b', 'synced v1beta1']);
    expect(known()).toEqual(['one', 'two']);
  });

  test.each([
    { name: 'before the other one is listed', slow: 'one' },
    { name: 'after the other one is listed', slow: 'two' },
  ])('are synced, lost and synced again without one that was forbidden $name', async ({ slow }) => {
    const world = new WatchWorld(['one', 'two']);
    world.create('a', 'one');
    world.fate = ({ path }) => ({
      ...(path.includes('/two/') && { outcome: 403 }),
      ...(path.includes(`/${slow}/`) && { answerMs: 100 }),
    });
    const eventsAfter = async (ms: number) => {
      const { length } = world.told;
      await world.clock.advance(ms);
      return world.told.slice(length).filter((line) => /synced|gone|hidden/.test(line));
    };
    world.watch.start();
    expect(await eventsAfter(1000)).toEqual(['synced v1beta1']);
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    expect(await eventsAfter(1000)).toEqual(['gone v1beta1', 'hidden one/a']);
    world.api.candidateVersions = ['v1beta1'];
    expect(await eventsAfter(20_000)).toEqual(['synced v1beta1']);
  });
});

test('a source that is gone is reported although one of its namespaces was never listed', async () => {
  const world = new WatchWorld(['one', 'two']);
  world.create('a', 'one');
  world.fate = ({ path }) => (path.includes('/two/') ? { outcome: 500 } : {});
  world.watch.start();
  await world.clock.advance(1000);
  world.api.candidateVersions = [];
  world.connection.breakWatches();
  await world.clock.advance(1000);
  expect(world.told).toEqual(['added one/a', 'gone v1beta1', 'hidden one/a', 'not served']);
});

describe('stopping', () => {
  test.each([0, 5, 15, 25])('at %i ms leaves nothing behind', async (atMs) => {
    const world = new WatchWorld();
    world.create('a');
    world.fate = () => ({ requestMs: 5, answerMs: 5 });
    world.watch.start();
    await world.clock.advance(atMs);
    const stopped = world.watch.stop();
    await world.clock.advance(20);
    await stopped;
    expect(world.connection.openWatches).toBe(0);
    const { length } = world.api.requests;
    await world.clock.advance(120_000);
    expect(world.api.requests).toHaveLength(length);
  });
});
