import { describe, expect, test } from 'vitest';
import { plannedChanges } from '../../src/inspection/planned-changes.ts';
import { makeCandidate, makeInput } from '../support/election-builders.ts';

const input = makeInput().candidates(makeCandidate('a').wants('example.com/x').seenAt(0)).build();
const nothing = { add: [], remove: [], manifests: undefined };

function manifest(kind: string, namespace: string, leaseName: string): string {
  return `{ kind: ${kind}, metadata: { name: m, namespace: ${namespace} }, spec: { leaseName: ${leaseName} } }`;
}

describe('what is planned', () => {
  test('adds first, with what the present candidates ask for, and removes then', () => {
    const changes = plannedChanges(
      { ...nothing, add: ['b=1.36.0/1.35.0', 'c=1.36.0'], remove: ['a'] },
      input,
    );
    const preference = { kind: 'strategy', strategy: 'example.com/x' };
    expect(changes).toMatchObject([
      {
        kind: 'add',
        candidate: { name: 'b', binaryVersion: '1.36.0', emulationVersion: '1.35.0', preference },
      },
      {
        kind: 'add',
        candidate: { name: 'c', binaryVersion: '1.36.0', emulationVersion: '1.36.0', preference },
      },
      { kind: 'remove', name: 'a' },
    ]);
  });

  test('takes manifests of several documents, and lists', () => {
    const one = manifest('LeaseCandidate', 'kube-system', 'scheduler');
    const manifests = `${one}\n---\n{ kind: List, items: [${one}] }\n---\n`;
    expect(plannedChanges({ ...nothing, manifests }, input)).toMatchObject([
      { kind: 'add', candidate: { name: 'm' } },
      { kind: 'add', candidate: { name: 'm' } },
    ]);
  });

  test.each([
    { request: { add: ['b'] }, want: '--add: "b" has no two semantic versions' },
    { request: { add: ['=1.0.0'] }, want: '--add: "=1.0.0" names no candidate' },
    { request: { add: ['b=1.0.0/1.1.0'] }, want: 'emulates a version newer than its binary' },
    { request: { remove: ['b'] }, want: '--remove: b is no candidate of kube-system/scheduler; there are a' },
    { request: { manifests: '' }, want: '-f: there is no LeaseCandidate in it' },
    { request: { manifests: '{ a' }, want: '-f: this is no YAML' },
    { request: { manifests: manifest('Lease', 'kube-system', 'scheduler') }, want: 'no LeaseCandidate' },
    {
      request: { manifests: manifest('LeaseCandidate', 'kube-system', 'other') },
      want: '-f: m is a candidate for kube-system/other, not for kube-system/scheduler',
    },
  ])('is refused when it is $request', ({ request, want }) => {
    expect(() => plannedChanges({ ...nothing, ...request }, input)).toThrow(want);
  });
});
