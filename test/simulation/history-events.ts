import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { CandidateState, HistoryEvent, LeaseState, Writer } from '../invariants/history.ts';
import { preferenceIn } from '../invariants/preference-in.ts';
import { type SimWrite, specOf } from './sim-api-server.ts';
import { keyOf } from './sim-store.ts';

type WhatWasWritten = Pick<SimWrite, 'at' | 'resource' | 'key' | 'before' | 'after' | 'isLate'>;

/** The history event of a write that the server has applied. */
export function eventOf(write: WhatWasWritten, writer: Writer): HistoryEvent {
  const { at, resource, key, before, after, isLate } = write;
  const common = { at, writer, key, isLate };
  return resource === 'leases'
    ? { kind: 'lease', ...common, before: leaseOf(before), after: leaseOf(after) }
    : { kind: 'candidate', ...common, before: candidateOf(before), after: candidateOf(after) };
}

/** The Leases in a history event, by key. */
export function leaseStates(leases: readonly KubernetesObject[]): ReadonlyMap<string, LeaseState> {
  return new Map(
    leases.flatMap((lease) => {
      const state = leaseOf(lease);
      return state ? [[keyOf(lease), state]] : [];
    }),
  );
}

/** Each object is seen twice: as the result of a write, and as the state that the next write finds. */
const leases = new WeakMap<KubernetesObject, LeaseState>();

function leaseOf(object: KubernetesObject | undefined): LeaseState | undefined {
  if (!object) return undefined;
  const known = leases.get(object);
  if (known) return known;
  const spec = specOf(object);
  const seconds = spec['leaseDurationSeconds'];
  const state: LeaseState = {
    uid: object.metadata.uid ?? '',
    resourceVersion: object.metadata.resourceVersion ?? '',
    holder: text(spec['holderIdentity']) ?? '',
    renewTime: text(spec['renewTime']),
    durationMs: typeof seconds === 'number' ? seconds * 1000 : undefined,
    transitions: Number(spec['leaseTransitions'] ?? 0),
    ...preferenceIn(object),
  };
  leases.set(object, state);
  return state;
}

function candidateOf(object: KubernetesObject | undefined): CandidateState | undefined {
  if (!object) return undefined;
  const spec = specOf(object);
  return {
    uid: object.metadata.uid ?? '',
    resourceVersion: object.metadata.resourceVersion ?? '',
    leaseName: String(spec['leaseName']),
    renewTime: text(spec['renewTime']),
    pingTime: text(spec['pingTime']),
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
