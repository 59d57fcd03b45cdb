import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../support/json.ts';
import { type FieldError, invalid, required } from '../errors/field-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { labelKeyProblems, subdomainProblems } from './names.ts';
import { numberIn, structIn, textIn } from './object-fields.ts';
import {
  immutable,
  type MetadataRules,
  validateMetadataOf,
  validateStandardFinalizers,
} from './validate-metadata.ts';

const LONGEST_WORD = 128;
const LONGEST_MESSAGE = 1024;

/** What is wrong with an Event of the core group; its metadata are left to what is checked of all objects. */
export function validateCoreEvent(event: ApiObject): readonly FieldError[] {
  return validateEither(event, 'reportingComponent');
}

/** What is wrong with an Event of events.k8s.io, in hub form; the fields are called as in the core group, as there. */
export function validateEvent(
  event: ApiObject,
  old: ApiObject | undefined,
  rules: MetadataRules,
): readonly FieldError[] {
  return [
    ...validateEither(event, 'reportingController'),
    ...validateMetadataOf(event, old, rules),
    ...validateStandardFinalizers(event.metadata),
    ...(old === undefined ? validateNew(event) : validateChange(event, old)),
  ];
}

/** Events with an eventTime are of the new kind and have to be whole, whatever group they are written in. */
function validateEither(event: ApiObject, controllerField: string): readonly FieldError[] {
  const { namespace = '' } = event.metadata;
  const involved = textIn(structIn(event, 'involvedObject'), 'namespace');
  const problems: FieldError[] = [];
  const isNew = textIn(event, 'eventTime') !== '';
  if (!(isNew ? fitsNew(namespace, involved) : fitsOld(namespace, involved))) {
    problems.push(invalid('involvedObject.namespace', involved, 'does not match event.namespace'));
  }
  if (isNew) problems.push(...validateWords(event, controllerField));
  for (const problem of subdomainProblems(namespace, 'characters')) {
    problems.push(invalid('namespace', namespace, problem));
  }
  return problems;
}

function fitsOld(namespace: string, involved: string): boolean {
  return involved === '' ? ['', 'default'].includes(namespace) : involved === namespace;
}

function fitsNew(namespace: string, involved: string): boolean {
  return involved !== '' || ['default', 'kube-system'].includes(namespace);
}

function validateWords(event: ApiObject, controllerField: string): readonly FieldError[] {
  const controller = textIn(event, 'reportingComponent');
  return [
    ...(controller === '' ? [required(controllerField)] : []),
    ...labelKeyProblems(controller).map((problem) => invalid(controllerField, controller, problem)),
    ...['reportingInstance', 'action', 'reason'].flatMap((field) => [
      ...(textIn(event, field) === '' ? [required(field)] : []),
      ...lengthProblems(event, field, LONGEST_WORD),
    ]),
    ...lengthProblems(event, 'message', LONGEST_MESSAGE),
  ];
}

function lengthProblems(event: ApiObject, field: string, most: number): readonly FieldError[] {
  if (Buffer.byteLength(textIn(event, field)) <= most) return [];
  return [invalid(field, '', `can have at most ${most} characters`)];
}

function validateNew(event: ApiObject): readonly FieldError[] {
  const type = textIn(event, 'type');
  const isSet: Readonly<Record<string, boolean>> = {
    firstTimestamp: textIn(event, 'firstTimestamp') !== '',
    lastTimestamp: textIn(event, 'lastTimestamp') !== '',
    count: numberIn(event, 'count') !== undefined,
    source: Object.keys(structIn(event, 'source')).length > 0,
  };
  return [
    ...validateSeries(event),
    ...(textIn(event, 'eventTime') === '' ? [required('eventTime')] : []),
    ...(type === 'Normal' || type === 'Warning' ? [] : [invalid('type', '', `has invalid value: ${type}`)]),
    ...Object.keys(isSet)
      .filter((field) => isSet[field])
      .map((field) => invalid(field, '', 'needs to be unset')),
  ];
}

function validateSeries(event: ApiObject): readonly FieldError[] {
  if (event['series'] === undefined) return [];
  const series = structIn(event, 'series');
  return [
    ...((numberIn(series, 'count') ?? 0) < 2 ? [invalid('series.count', '', 'should be at least 2')] : []),
    ...(textIn(series, 'lastObservedTime') === '' ? [required('series.lastObservedTime')] : []),
  ];
}

/** An Event does not change, but for how often it has happened. */
function validateChange(event: ApiObject, old: ApiObject): readonly FieldError[] {
  const text = (field: string) => immutable(field, textIn(event, field), textIn(old, field));
  const moment = (field: string) => immutable(field, event[field] ?? null, old[field] ?? null);
  const struct = (field: string, names: readonly (readonly [string, string])[]) =>
    immutable(field, goStruct(event[field], names), goStruct(old[field], names));
  return [
    ...(isDeepStrictEqual(event['series'], old['series']) ? [] : validateSeries(event)),
    ...struct('involvedObject', REFERENCE),
    ...text('reason'),
    ...text('message'),
    ...struct('source', SOURCE),
    ...moment('firstTimestamp'),
    ...moment('lastTimestamp'),
    ...immutable('count', numberIn(event, 'count') ?? 0, numberIn(old, 'count') ?? 0),
    // Checked twice by the real server, too.
    ...text('reason'),
    ...text('type'),
    ...moment('eventTime'),
    ...text('action'),
    ...struct('related', REFERENCE),
    ...immutable(
      'reportingController',
      textIn(event, 'reportingComponent'),
      textIn(old, 'reportingComponent'),
    ),
    ...text('reportingInstance'),
  ];
}

/** Fields as the messages of the real server show them: those of its internal types, all of them. */
const REFERENCE = [
  ['Kind', 'kind'],
  ['Namespace', 'namespace'],
  ['Name', 'name'],
  ['UID', 'uid'],
  ['APIVersion', 'apiVersion'],
  ['ResourceVersion', 'resourceVersion'],
  ['FieldPath', 'fieldPath'],
] as const;
const SOURCE = [
  ['Component', 'component'],
  ['Host', 'host'],
] as const;

function goStruct(value: unknown, names: readonly (readonly [string, string])[]): JsonObject | null {
  if (value === undefined || value === null) return null;
  const fields = value as JsonObject;
  return Object.fromEntries(names.map(([goName, name]) => [goName, textIn(fields, name)]));
}
