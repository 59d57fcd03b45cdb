import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import type { VersionDefinition } from '../../../src/apiserver/kinds/definition.ts';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';
import { applyConfiguration } from '../../../src/apiserver/ownership/apply-configuration.ts';
import type { Change } from '../../../src/apiserver/ownership/managers.ts';
import { recordUpdate } from '../../../src/apiserver/ownership/ownership.ts';
import type { Versions } from '../../../src/apiserver/ownership/versions.ts';
import { applyJsonPatch } from '../../../src/apiserver/patch/json-patch.ts';
import { applyMergePatch } from '../../../src/apiserver/patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../../../src/apiserver/patch/strategic-merge-patch.ts';
import type { ApiObject, ManagedFieldsEntry } from '../../../src/apiserver/schema/api-object.ts';
import { decodeObject } from '../../../src/apiserver/schema/decode.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import { atVersionOf, objectOf, type Step, type Story } from './stories.ts';
import { type Outcome, transcriptOf } from './transcript.ts';

const views = new Map<string, VersionDefinition>(
  createResources({ leaseCandidateVersions: ['v1beta1', 'v1alpha2'] }).flatMap(({ group, kind, versions }) =>
    versions.map((version) => [
      `${kind} ${group === '' ? version.version : `${group}/${version.version}`}`,
      version,
    ]),
  ),
);

/** The served versions of a kind, in all groups. */
export function versionsOf(kind: string): Versions {
  return {
    schema: (apiVersion) => views.get(`${kind} ${apiVersion}`)?.schema,
    convert: (object, apiVersion) =>
      viewOf(kind, apiVersion).fromHub(viewOf(kind, object.apiVersion).toHub(object)),
  };
}

export function viewOf(kind: string, apiVersion: string): VersionDefinition {
  const view = views.get(`${kind} ${apiVersion}`);
  if (view === undefined) throw new Error(`${kind} is not served in ${apiVersion}`);
  return view;
}

/** An object as a server has decoded it. */
export function decoded(kind: string, apiVersion: string, value: JsonObject): ApiObject {
  const { metadata = {}, ...rest } = decodeObject(viewOf(kind, apiVersion).schema, value).value;
  return { ...rest, apiVersion, kind, metadata } as unknown as ApiObject;
}

/** Plays a story with the functions under test only. A second passes between two steps. */
export function tellStory(story: Story): string {
  const { kind, steps } = story;
  let stored: ApiObject | undefined;
  const outcomes = steps.map((step, index): Outcome => {
    const view = viewOf(kind, step.apiVersion);
    const live = stored && view.fromHub(stored);
    try {
      const next = withServerFields(play(kind, step, live, index), live);
      stored = withOldTimes(view.toHub(next, stored), stored);
      return { kind: 'stored', object: view.fromHub(stored) };
    } catch (error) {
      if (error instanceof ApiError) return { kind: 'refused', status: { ...error.status } };
      throw error;
    }
  });
  return transcriptOf(story, outcomes, stepOf);
}

function timeOf(step: number): string {
  return new Date(Date.UTC(2026, 0, 1, 0, 0, step)).toISOString().replace('.000Z', 'Z');
}

function stepOf(time: string): string {
  const step = (Date.parse(time) - Date.UTC(2026, 0, 1)) / 1000;
  return step < 0 ? time : `at step ${step + 1}`;
}

function play(kind: string, step: Step, live: ApiObject | undefined, index: number): ApiObject {
  const { verb, manager, apiVersion, body, force = false } = step;
  const change: Change = { manager, time: timeOf(index) };
  const versions = versionsOf(kind);
  if (verb === 'apply') {
    const config = objectOf(body, { apiVersion, kind });
    return applyConfiguration({ live, config, force, change, versions }).object;
  }
  const next = decoded(kind, apiVersion, written(kind, step, live));
  return recordUpdate({ live, next, change, versions });
}

function written(kind: string, { verb, apiVersion, body }: Step, live: ApiObject | undefined): JsonObject {
  const patched = live ?? {};
  switch (verb) {
    case 'merge':
      return applyMergePatch(patched, body);
    case 'json':
      return applyJsonPatch(patched, body);
    case 'strategic':
      return applyStrategicMergePatch(viewOf(kind, apiVersion).schema, patched, body);
    default:
      return atVersionOf(patched, objectOf(body, { apiVersion, kind }));
  }
}

/** The fields that a server sets. */
function withServerFields(next: ApiObject, live: ApiObject | undefined): ApiObject {
  const given = { creationTimestamp: '2026-01-01T00:00:00Z', resourceVersion: '1', uid: 'some-uid' };
  const { creationTimestamp, resourceVersion, uid } = live?.metadata ?? {};
  return {
    ...next,
    metadata: { ...next.metadata, ...given, ...(live && { creationTimestamp, resourceVersion, uid }) },
  } as ApiObject;
}

/** A write that changes only times changes nothing. */
function withOldTimes(next: ApiObject, old: ApiObject | undefined): ApiObject {
  return old !== undefined && isDeepStrictEqual(timeless(next), timeless(old)) ? old : next;
}

function timeless(object: ApiObject): unknown {
  const managedFields = object.metadata.managedFields?.map(
    ({ time: _, ...entry }: ManagedFieldsEntry) => entry,
  );
  return { ...object, metadata: { ...object.metadata, managedFields } };
}
