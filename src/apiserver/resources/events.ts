import type { ApiObject } from '../schema/api-object.ts';
import type { ResourceDefinition } from './definition.ts';
import { eventColumns } from './event-columns.ts';
import { fromCoreEvent, toCoreEvent } from './event-conversion.ts';
import { coreEventSchema, eventSchema } from './event-schemas.ts';
import { validateCoreEvent, validateEvent } from './event-validation.ts';
import { dnsSubdomainName, pathSegmentName } from './names.ts';
import { selectableMetadata, settled, structIn, textIn } from './object-fields.ts';
import type { MetadataRules } from './validate-metadata.ts';

const REFERENCE_FIELDS = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

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

const rules: MetadataRules = { isNamespaced: true, nameProblems: dnsSubdomainName };

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
  ...rules,
  validate: (event, old) => validateEvent(event, old, rules),
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
  return Object.fromEntries(REFERENCE_FIELDS.map((name) => [`${field}.${name}`, textIn(reference, name)]));
}
