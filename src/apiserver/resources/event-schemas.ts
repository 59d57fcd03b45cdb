import { metadataField, text, typeFields, uid } from '../schema/object-meta.ts';
import type { FieldSchema, StructSchema } from '../schema/schema.ts';

const CORE = 'io.k8s.api.core.v1';
const EVENTS = 'io.k8s.api.events.v1';

const objectReferenceSchema: StructSchema = {
  kind: 'struct',
  name: 'ObjectReference',
  model: `${CORE}.ObjectReference`,
  description: 'Names an object.',
  isAtomic: true,
  fields: {
    kind: { type: text, description: 'Its kind.', zero: 'omit' },
    namespace: { type: text, description: 'Its namespace.', zero: 'omit' },
    name: { type: text, description: 'Its name.', zero: 'omit' },
    uid: { type: uid, description: 'Its UID.', zero: 'omit' },
    apiVersion: { type: text, description: 'The group and version of its API.', zero: 'omit' },
    resourceVersion: { type: text, description: 'The state of it that is meant, if one is.', zero: 'omit' },
    fieldPath: { type: text, description: 'The part of it that is meant, if one is.', zero: 'omit' },
  },
};

const eventSourceSchema: StructSchema = {
  kind: 'struct',
  name: 'EventSource',
  model: `${CORE}.EventSource`,
  description: 'Where an Event comes from.',
  fields: {
    component: { type: text, description: 'The component that tells of it.', zero: 'omit' },
    host: { type: text, description: 'The node where that component runs.', zero: 'omit' },
  },
};

const reason: FieldSchema = {
  type: text,
  description: 'Why it happened, in one word of CamelCase.',
  zero: 'omit',
};
const message: FieldSchema = { type: text, description: 'What happened, for people.', zero: 'omit' };
const type: FieldSchema = { type: text, description: 'Normal or Warning.', zero: 'omit' };
const action: FieldSchema = { type: text, description: 'What was done or tried, in one word.', zero: 'omit' };
const eventTime: FieldSchema = {
  type: { kind: 'microTime' },
  description: 'When it first happened.',
  zero: 'fill',
};
const about: FieldSchema = {
  type: objectReferenceSchema,
  description: 'The object that the Event is about.',
  zero: 'fill',
};
const related: FieldSchema = {
  type: objectReferenceSchema,
  description: 'Another object that has to do with it.',
  zero: 'keep',
};
const controller: FieldSchema = {
  type: text,
  description: 'The controller that tells of it: a qualified name.',
  zero: 'omit',
};
const instance: FieldSchema = { type: text, description: 'Which of its instances.', zero: 'omit' };
const source: FieldSchema = {
  type: eventSourceSchema,
  description: 'The component that tells of it.',
  zero: 'fill',
};
const firstTime: FieldSchema = {
  type: { kind: 'time' },
  description: 'When it first happened.',
  zero: 'fill',
};
const lastTime: FieldSchema = { type: { kind: 'time' }, description: 'When it last happened.', zero: 'fill' };
const count: FieldSchema = {
  type: { kind: 'int32' },
  description: 'How often it has happened.',
  zero: 'omit',
};

/** The form of the core group, in which Events are stored. */
export const coreEventSchema: StructSchema = {
  kind: 'struct',
  name: 'Event',
  model: `${CORE}.Event`,
  description: 'An Event tells of something that has happened to an object. It is kept for an hour or so.',
  fields: {
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
    series: series(CORE, 'omit'),
    action,
    related,
    reportingComponent: { ...controller, zero: 'fill' },
    reportingInstance: { ...instance, zero: 'fill' },
  },
};

export const eventSchema: StructSchema = {
  kind: 'struct',
  name: 'Event',
  model: `${EVENTS}.Event`,
  description: 'An Event tells of something that has happened to an object. It is kept for an hour or so.',
  fields: {
    ...typeFields,
    metadata: metadataField,
    eventTime: { ...eventTime, isRequired: true },
    series: series(EVENTS, 'fill'),
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
  },
};

function series(model: string, zeroCount: 'omit' | 'fill'): FieldSchema {
  const isRequired = zeroCount === 'fill' ? ({ isRequired: true } as const) : {};
  const schema: StructSchema = {
    kind: 'struct',
    name: 'EventSeries',
    model: `${model}.EventSeries`,
    description: 'Tells of something that happens again and again.',
    fields: {
      count: {
        type: { kind: 'int32' },
        description: 'How often it has happened.',
        zero: zeroCount,
        ...isRequired,
      },
      lastObservedTime: {
        type: { kind: 'microTime' },
        description: 'When it last happened.',
        zero: 'fill',
        ...isRequired,
      },
    },
  };
  return { type: schema, description: 'The series that this Event stands for, if it does.', zero: 'keep' };
}
