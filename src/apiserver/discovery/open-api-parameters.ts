import type { JsonObject } from '../../support/json.ts';

type Kind = 'string' | 'integer' | 'boolean';

function inQuery(name: string, type: Kind, description: string): JsonObject {
  return { name, in: 'query', description, schema: { type, uniqueItems: true } };
}

function inPath(name: string, description: string): JsonObject {
  return { name, in: 'path', description, required: true, schema: { type: 'string', uniqueItems: true } };
}

export const namespaceParameter = inPath('namespace', 'The namespace that the objects are in.');
export const nameParameter = inPath('name', 'The name of the object.');
export const prettyParameter = inQuery('pretty', 'string', 'true: laid out for people to read.');

const dryRun = inQuery('dryRun', 'string', 'All: goes through every step but storing it.');
const timeoutSeconds = inQuery('timeoutSeconds', 'integer', 'After how many seconds a watch is ended.');

const selection: readonly JsonObject[] = [
  inQuery('continue', 'string', 'What a limited list gave along: asks for its next part.'),
  inQuery('fieldSelector', 'string', 'Only objects with these values in these fields, like metadata.name=a.'),
  inQuery('labelSelector', 'string', 'Only objects with labels like these, like app=a,tier in (b,c).'),
  inQuery('limit', 'integer', 'At most so many objects; the list then tells how to get the rest.'),
  inQuery('resourceVersion', 'string', 'The state to list, or to watch from.'),
  inQuery('resourceVersionMatch', 'string', 'NotOlderThan or Exact: how resourceVersion is meant.'),
  inQuery(
    'sendInitialEvents',
    'boolean',
    'Whether a watch begins with an event for each object that there is.',
  ),
  timeoutSeconds,
];

/** What lists and watches can be told. */
export const listParameters: readonly JsonObject[] = [
  inQuery(
    'allowWatchBookmarks',
    'boolean',
    'Whether a watch may send events that only tell how far it has come.',
  ),
  ...selection,
  inQuery('watch', 'boolean', 'Whether to go on telling what changes.'),
];

/** What creating and replacing can be told. */
export const writeParameters: readonly JsonObject[] = [
  dryRun,
  inQuery(
    'fieldManager',
    'string',
    'Who sets the fields; the first word of the User-Agent where it is absent.',
  ),
  inQuery(
    'fieldValidation',
    'string',
    'Ignore, Warn or Strict: what becomes of fields that are unknown or given twice.',
  ),
];

/** What patches can be told. */
export const patchParameters: readonly JsonObject[] = [
  ...writeParameters,
  inQuery('force', 'boolean', 'Whether an applied object takes fields away from other managers.'),
];

/** What a deletion can be told. */
export const deleteParameters: readonly JsonObject[] = [
  dryRun,
  inQuery('gracePeriodSeconds', 'integer', 'How long an object may take to go; here it goes at once.'),
  inQuery('orphanDependents', 'boolean', 'Outdated: use propagationPolicy.'),
  inQuery('propagationPolicy', 'string', 'Orphan, Background or Foreground: what becomes of its dependents.'),
];

/** What the deletion of many objects can be told. */
export const deleteCollectionParameters: readonly JsonObject[] = [...deleteParameters, ...selection];
