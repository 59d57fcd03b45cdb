import { isDeepStrictEqual } from 'node:util';
import { type FieldError, invalid, required } from '../errors/field-error.ts';
import { type ApiObject, metadataField, text, typeFields } from '../schema/api-object.ts';
import type { FieldSchema, StructSchema } from '../schema/schema.ts';
import {
  type ColumnDefinition,
  column,
  field,
  numberIn,
  type ResourceDefinition,
  selectableMetadata,
  settled,
  struct,
  structIn,
  textIn,
  timeSince,
} from './definition.ts';
import {
  dnsSubdomainName,
  immutable,
  labelKeyProblems,
  pathSegmentName,
  subdomainProblems,
  validateStandardFinalizers,
} from './validation.ts';

const CORE = 'io.k8s.api.core.v1';
const EVENTS = 'io.k8s.api.events.v1';
const EVENT = 'An Event tells of something that has happened to an object. It is kept for an hour or so.';

const objectReferenceSchema: StructSchema = struct(
  `${CORE}.ObjectReference`,
  'Names an object.',
  {
    kind: field(text, 'omit', 'Its kind.'),
    namespace: field(text, 'omit', 'Its namespace.'),
    name: field(text, 'omit', 'Its name.'),
    uid: field(text, 'omit', 'Its UID.'),
    apiVersion: field(text, 'omit', 'The group and version of its API.'),
    resourceVersion: field(text, 'omit', 'The state of it that is meant, if one is.'),
    fieldPath: field(text, 'omit', 'The part of it that is meant, if one is.'),
  },
  { isAtomic: true },
);

const eventSourceSchema: StructSchema = struct(`${CORE}.EventSource`, 'Where an Event comes from.', {
  component: field(text, 'omit', 'The component that tells of it.'),
  host: field(text, 'omit', 'The node where that component runs.'),
});

const reason = field(text, 'omit', 'Why it happened, in one word of CamelCase.');
const type = field(text, 'omit', 'Normal or Warning.');
const action = field(text, 'omit', 'What was done or tried, in one word.');
const related = field(objectReferenceSchema, 'keep', 'Another object that has to do with it.');
const message = field(text, 'omit', 'What happened, for people.');
const about = field(objectReferenceSchema, 'fill', 'The object that the Event is about.');
const source = field(eventSourceSchema, 'fill', 'The component that tells of it.');
const firstTime = field({ kind: 'time' }, 'fill', 'When it first happened.');
const lastTime = field({ kind: 'time' }, 'fill', 'When it last happened.');
const count = field({ kind: 'int32' }, 'omit', 'How often it has happened.');
const eventTime = field({ kind: 'microTime' }, 'fill', 'When it first happened.');
const controller = field(text, 'omit', 'The controller that tells of it: a qualified name.');
const instance = field(text, 'omit', 'Which of its instances.');

function series(model: string, isRequired?: true): FieldSchema {
  const more = isRequired ? { isRequired } : {};
  const schema = struct(`${model}.EventSeries`, 'Tells of something that happens again and again.', {
    count: field({ kind: 'int32' }, isRequired ? 'fill' : 'omit', 'How often it has happened.', more),
    lastObservedTime: field({ kind: 'microTime' }, 'fill', 'When it last happened.', more),
  });
  return field(schema, 'keep', 'The series that this Event stands for, if it does.');
}

/** The form of the core group, in which Events are stored. */
const coreEventSchema: StructSchema = struct(`${CORE}.Event`, EVENT, {
  ...typeFields,
  metadata: { ...metadataField, isRequired: true },
  involvedObject: { ...about, isRequired: true },
  reason,
  message,
  source,
  firstTimestamp: firstTime,
  lastTimestamp: lastTime,
  count,
  type,
  eventTime,
  series: series(CORE),
  action,
  related,
  reportingComponent: { ...controller, zero: 'fill' },
  reportingInstance: { ...instance, zero: 'fill' },
});

const eventSchema: StructSchema = struct(`${EVENTS}.Event`, EVENT, {
  ...typeFields,
  metadata: metadataField,
  eventTime: { ...eventTime, isRequired: true },
  series: series(EVENTS, true),
  reportingController: controller,
  reportingInstance: instance,
  action,
  reason,
  regarding: about,
  related,
  note: message,
  type,
  deprecatedSource: source,
  deprecatedFirstTimestamp: firstTime,
  deprecatedLastTimestamp: lastTime,
  deprecatedCount: count,
});

/** What events.k8s.io calls a field, and the core group; all others have one name. */
const names = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
] as const;

const coreNames = new Map<string, string>(names);
const eventNames = new Map<string, string>(names.map(([name, coreName]) => [coreName, name]));

/** From events.k8s.io/v1 to the core group. */
function toCoreEvent(event: ApiObject): ApiObject {
  return settled(coreEventSchema, renamed(event, coreNames), 'v1');
}

/** From the core group to events.k8s.io/v1. */
function fromCoreEvent(event: ApiObject): ApiObject {
  return settled(eventSchema, renamed(event, eventNames), 'events.k8s.io/v1');
}

function renamed(event: ApiObject, to: ReadonlyMap<string, string>): ApiObject {
  const entries = Object.entries(event).map(([name, value]) => [to.get(name) ?? name, value]);
  // kind, apiVersion and metadata keep their names.
  return Object.fromEntries(entries) as ApiObject;
}

const columns: readonly ColumnDefinition[] = [
  column('Last Seen', 'When it last happened.', lastSeen),
  column('Type', 'Normal or Warning.', (event) => textIn(event, 'type')),
  column('Reason', 'Why it happened.', (event) => textIn(event, 'reason')),
  column('Object', 'What it happened to.', involvedObject),
  column(
    'Subobject',
    'The part of the object that it happened to.',
    (event) => textIn(structIn(event, 'involvedObject'), 'fieldPath'),
    1,
  ),
  column('Source', 'Who tells of it.', teller, 1),
  column('Message', 'What happened.', (event) => textIn(event, 'message').trim()),
  column('First Seen', 'When it first happened.', firstSeen, 1),
  column('Count', 'How often it has happened.', occurrences, 1),
  { ...column('Name', 'The name of the Event.', ({ metadata }) => metadata.name, 1), isName: true },
];

/** The columns of Events, whose name comes last and only with `-o wide`; `toCore` gives their form of the core group. */
function eventColumns(toCore: (event: ApiObject) => ApiObject): readonly ColumnDefinition[] {
  return columns.map(({ cell, ...column }) => ({
    ...column,
    cell: (event, nowSeconds) => cell(toCore(event), nowSeconds),
  }));
}

const common = {
  resource: 'events',
  singular: 'event',
  kind: 'Event',
  isNamespaced: true,
  shortNames: ['ev'],
  storage: 'events',
  isUncached: true,
  createsOnUpdate: true,
  updatesUnconditionally: true,
  prepareForCreate: (event: ApiObject) => event,
  prepareForUpdate: (event: ApiObject) => event,
} as const;

/** Events of the core group, which is the form in which all of them are stored. */
export const coreEvents: ResourceDefinition = {
  ...common,
  group: '',
  nameProblems: pathSegmentName,
  validate: validateCoreEvent,
  versions: [
    {
      version: 'v1',
      schema: coreEventSchema,
      toHub: (event) => settled(coreEventSchema, event, 'v1'),
      fromHub: (event) => event,
      selectableFields: (event) => ({
        ...selectableReference(event, 'involvedObject'),
        ...selectableMetadata(event),
        reason: textIn(event, 'reason'),
        reportingComponent: textIn(event, 'reportingComponent'),
        source: textIn(structIn(event, 'source'), 'component') || textIn(event, 'reportingComponent'),
        type: textIn(event, 'type'),
      }),
      columns: eventColumns((event) => event),
    },
  ],
};

/** The same Events as events.k8s.io shows them. */
export const events: ResourceDefinition = {
  ...common,
  group: 'events.k8s.io',
  nameProblems: dnsSubdomainName,
  validate: validateEvent,
  versions: [
    {
      version: 'v1',
      schema: eventSchema,
      toHub: toCoreEvent,
      fromHub: fromCoreEvent,
      selectableFields: (event) => ({
        ...selectableReference(event, 'regarding'),
        ...selectableMetadata(event),
        reason: textIn(event, 'reason'),
        reportingController: textIn(event, 'reportingController'),
        type: textIn(event, 'type'),
      }),
      columns: eventColumns(toCoreEvent),
    },
  ],
};

function selectableReference(event: ApiObject, field: string): Readonly<Record<string, string>> {
  const reference = structIn(event, field);
  const names = Object.keys(objectReferenceSchema.fields);
  return Object.fromEntries(names.map((name) => [`${field}.${name}`, textIn(reference, name)]));
}

function firstSeen(event: ApiObject, nowSeconds: number): string {
  return timeSince(event['firstTimestamp'] ?? event['eventTime'], nowSeconds);
}

function lastSeen(event: ApiObject, nowSeconds: number): string {
  if (event['series'] !== undefined)
    return timeSince(structIn(event, 'series')['lastObservedTime'], nowSeconds);
  const last = event['lastTimestamp'];
  return typeof last === 'string' ? timeSince(last, nowSeconds) : firstSeen(event, nowSeconds);
}

function occurrences(event: ApiObject): number {
  if (event['series'] !== undefined) return numberIn(structIn(event, 'series'), 'count') ?? 0;
  // An Event that stands for one occurrence need not say so.
  return numberIn(event, 'count') ?? 1;
}

function involvedObject(event: ApiObject): string {
  const involved = structIn(event, 'involvedObject');
  const kind = textIn(involved, 'kind').toLowerCase();
  const name = textIn(involved, 'name');
  return name === '' ? kind : `${kind}/${name}`;
}

function teller(event: ApiObject): string {
  const { component, host } = structIn(event, 'source');
  const instance = host ?? textIn(event, 'reportingInstance');
  const name = component ?? textIn(event, 'reportingComponent');
  return instance === '' ? String(name) : `${name}, ${instance}`;
}

const LONGEST_WORD = 128;
const LONGEST_MESSAGE = 1024;

/** What is wrong with an Event of the core group. */
function validateCoreEvent(event: ApiObject): readonly FieldError[] {
  return validateEither(event, 'reportingComponent');
}

/** What is wrong with an Event of events.k8s.io, in hub form; the fields are called as in the core group, as there. */
function validateEvent(event: ApiObject, old?: ApiObject): readonly FieldError[] {
  return [
    ...validateEither(event, 'reportingController'),
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
  for (const problem of subdomainProblems(namespace)) {
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

const CHANGING_FIELDS = ['kind', 'apiVersion', 'metadata', 'series'];
const fixedFields = Object.keys(coreEventSchema.fields).filter((name) => !CHANGING_FIELDS.includes(name));

/** An Event does not change, but for how often it has happened. */
function validateChange(event: ApiObject, old: ApiObject): readonly FieldError[] {
  const isSameSeries = isDeepStrictEqual(event['series'], old['series']);
  return [
    ...(isSameSeries ? [] : validateSeries(event)),
    ...fixedFields.flatMap((name) => {
      const called = name === 'reportingComponent' ? 'reportingController' : name;
      return immutable(called, event[name] ?? null, old[name] ?? null);
    }),
  ];
}
