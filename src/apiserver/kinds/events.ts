import { type FieldError, invalid, required } from '../errors/field-error.ts';
import { type ApiObject, metadataField, text, typeFields } from '../schema/api-object.ts';
import { field, struct } from '../schema/schema.ts';
import {
  type ColumnDefinition,
  column,
  numberIn,
  type ResourceDefinition,
  selectableMetadata,
  settled,
  structIn,
  textIn,
  timeSince,
} from './definition.ts';
import { labelKeyProblems, pathSegmentName, subdomainProblems } from './validation.ts';

const CORE = 'io.k8s.api.core.v1';
const microTime = { kind: 'microTime' } as const;
const time = { kind: 'time' } as const;
const int32 = { kind: 'int32' } as const;

const objectReferenceSchema = struct(
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

const eventSourceSchema = struct(`${CORE}.EventSource`, 'Where an Event comes from.', {
  component: field(text, 'omit', 'The component that tells of it.'),
  host: field(text, 'omit', 'The node where that component runs.'),
});

const series = struct(`${CORE}.EventSeries`, 'Tells of something that happens again and again.', {
  count: field(int32, 'omit', 'How often it has happened.'),
  lastObservedTime: field(microTime, 'fill', 'When it last happened.'),
});

const schema = struct(`${CORE}.Event`, 'An Event tells what happened to an object. It is kept for an hour.', {
  ...typeFields,
  metadata: { ...metadataField, isRequired: true },
  involvedObject: field(objectReferenceSchema, 'fill', 'The object that the Event is about.', {
    isRequired: true,
  }),
  reason: field(text, 'omit', 'Why it happened, in one word of CamelCase.'),
  message: field(text, 'omit', 'What happened, for people.'),
  source: field(eventSourceSchema, 'fill', 'The component that tells of it.'),
  firstTimestamp: field(time, 'fill', 'When it first happened.'),
  lastTimestamp: field(time, 'fill', 'When it last happened.'),
  count: field(int32, 'omit', 'How often it has happened.'),
  type: field(text, 'omit', 'Normal or Warning.'),
  eventTime: field(microTime, 'fill', 'When it first happened.'),
  series: field(series, 'keep', 'The series that this Event stands for, if it does.'),
  action: field(text, 'omit', 'What was done or tried, in one word.'),
  related: field(objectReferenceSchema, 'keep', 'Another object that has to do with it.'),
  reportingComponent: field(text, 'fill', 'The controller that tells of it: a qualified name.'),
  reportingInstance: field(text, 'fill', 'Which of its instances.'),
});

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

export const events: ResourceDefinition = {
  group: '',
  resource: 'events',
  singular: 'event',
  kind: 'Event',
  isNamespaced: true,
  shortNames: ['ev'],
  storage: 'events',
  isUncached: true,
  createsOnUpdate: true,
  updatesUnconditionally: true,
  nameProblems: pathSegmentName,
  prepareForCreate: (event) => event,
  prepareForUpdate: (event) => event,
  validate: validateEvent,
  versions: [
    {
      version: 'v1',
      schema,
      toHub: (event) => settled(schema, event, 'v1'),
      fromHub: (event) => event,
      selectableFields,
      columns,
    },
  ],
};

function selectableFields(event: ApiObject): Readonly<Record<string, string>> {
  const involved = structIn(event, 'involvedObject');
  const names = Object.keys(objectReferenceSchema.fields);
  return {
    ...Object.fromEntries(names.map((name) => [`involvedObject.${name}`, textIn(involved, name)])),
    ...selectableMetadata(event),
    reason: textIn(event, 'reason'),
    reportingComponent: textIn(event, 'reportingComponent'),
    source: textIn(structIn(event, 'source'), 'component') || textIn(event, 'reportingComponent'),
    type: textIn(event, 'type'),
  };
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
  // An Event without a count stands for one occurrence.
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

/** Validates an Event. An Event with an eventTime is in the new format, which requires more fields. */
function validateEvent(event: ApiObject): readonly FieldError[] {
  const { namespace = '' } = event.metadata;
  const involved = textIn(structIn(event, 'involvedObject'), 'namespace');
  const problems: FieldError[] = [];
  const isNew = textIn(event, 'eventTime') !== '';
  if (!(isNew ? fitsNew(namespace, involved) : fitsOld(namespace, involved))) {
    problems.push(invalid('involvedObject.namespace', involved, 'does not match event.namespace'));
  }
  if (isNew) problems.push(...validateWords(event));
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

function validateWords(event: ApiObject): readonly FieldError[] {
  const field = 'reportingComponent';
  const controller = textIn(event, field);
  return [
    ...(controller === '' ? [required(field)] : []),
    ...labelKeyProblems(controller).map((problem) => invalid(field, controller, problem)),
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
