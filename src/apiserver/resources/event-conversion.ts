import type { ApiObject } from '../schema/api-object.ts';
import { coreEventSchema, eventSchema } from './event-schemas.ts';
import { settled } from './object-fields.ts';

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
export function toCoreEvent(event: ApiObject): ApiObject {
  return settled(coreEventSchema, renamed(event, coreNames), 'v1');
}

/** From the core group to events.k8s.io/v1. */
export function fromCoreEvent(event: ApiObject): ApiObject {
  return settled(eventSchema, renamed(event, eventNames), 'events.k8s.io/v1');
}

function renamed(event: ApiObject, to: ReadonlyMap<string, string>): ApiObject {
  const entries = Object.entries(event).map(([name, value]) => [to.get(name) ?? name, value]);
  // kind, apiVersion and metadata keep their names.
  return Object.fromEntries(entries) as ApiObject;
}
