import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/support/json.ts';
import { definitionOf, linesOf, makeObject, versionOf } from './make.ts';

const GROUP = 'coordination.k8s.io';
const candidates = definitionOf('leasecandidates');
const v1beta1 = versionOf(candidates, 'v1beta1');
const v1alpha1 = versionOf(candidates, 'v1alpha1');

const make = (version: string, spec: JsonObject) =>
  makeObject(`${GROUP}/${version}`, 'LeaseCandidate', { spec }, { namespace: 'n', resourceVersion: '1' });

const OLDEST = 'OldestEmulationVersion';
const good = { leaseName: 'l', binaryVersion: '1.2.3', emulationVersion: '1.2.0', strategy: OLDEST };
const listed = {
  leaseName: 'l',
  binaryVersion: '1.2.3',
  emulationVersion: '1.2.0',
  preferredStrategies: [OLDEST],
};

describe('one object in several versions', () => {
  test('the only strategy is a list of one in v1alpha1', () => {
    const hub = v1beta1.toHub(make('v1beta1', good));
    expect(hub['spec']).toEqual(good);
    expect(v1alpha1.fromHub(hub)).toEqual(make('v1alpha1', listed));
  });

  test('the first of a list is the strategy in the other versions', () => {
    const hub = v1alpha1.toHub(make('v1alpha1', { ...listed, preferredStrategies: ['a/b', OLDEST] }));
    expect(hub.apiVersion).toBe(`${GROUP}/v1beta1`);
    expect(v1beta1.fromHub(hub)['spec']).toEqual({ ...good, strategy: 'a/b' });
    expect(v1alpha1.fromHub(hub)['spec']).toEqual({ ...listed, preferredStrategies: ['a/b', OLDEST] });
  });

  test('no fields are invented for a candidate without a strategy and a version', () => {
    const hub = v1alpha1.toHub(make('v1alpha1', { leaseName: 'l' }));
    expect(v1alpha1.fromHub(hub)['spec']).toEqual({ leaseName: 'l' });
    expect(v1beta1.fromHub(hub)['spec']).toEqual({ leaseName: 'l', binaryVersion: '' });
  });

  test.each([
    ['keeps a list that begins with its strategy', 'a/b', ['a/b', OLDEST]],
    ['replaces one that does not', OLDEST, [OLDEST]],
  ])('a write through v1beta1 %s', (_, strategy, want) => {
    const previous = v1alpha1.toHub(make('v1alpha1', { ...listed, preferredStrategies: ['a/b', OLDEST] }));
    const hub = v1beta1.toHub(make('v1beta1', { ...good, strategy }), previous);
    expect(v1alpha1.fromHub(hub)['spec']).toEqual({ ...listed, preferredStrategies: want });
    expect(v1beta1.fromHub(hub)['spec']).toEqual({ ...good, strategy });
  });

  test('a write through v1beta1 needs a strategy, even if there was none before', () => {
    const previous = v1alpha1.toHub(make('v1alpha1', { leaseName: 'l' }));
    const hub = v1beta1.toHub(make('v1beta1', { ...good, strategy: '' }), previous);
    expect(linesOf(candidates.validate(hub, previous))).toEqual(['spec.strategy: Required value']);
  });

  test('a write through v1alpha1 replaces the list', () => {
    const previous = v1alpha1.toHub(make('v1alpha1', listed));
    const hub = v1alpha1.toHub(make('v1alpha1', { ...listed, preferredStrategies: [] }), previous);
    expect(v1alpha1.fromHub(hub)['spec']).not.toHaveProperty('preferredStrategies');
  });

  test('the stored form is the same in its own version', () => {
    const hub = v1beta1.toHub(make('v1beta1', good));
    expect(v1beta1.fromHub(hub)).toBe(hub);
  });
});
