import type { ApiObject } from '../schema/api-object.ts';
import { timeSince } from './age.ts';
import type { ColumnDefinition } from './definition.ts';
import { numberIn, structIn, textIn } from './object-fields.ts';

/** The columns of Events, whose name comes last and only with `-o wide`; `toCore` gives their form of the core group. */
export function eventColumns(toCore: (event: ApiObject) => ApiObject): readonly ColumnDefinition[] {
  return columns.map(({ cell, ...column }) => ({
    ...column,
    cell: (event, nowSeconds) => cell(toCore(event), nowSeconds),
  }));
}

const columns: readonly ColumnDefinition[] = [
  column('Last Seen', 'When it last happened.', 0, lastSeen),
  column('Type', 'Normal or Warning.', 0, (event) => textIn(event, 'type')),
  column('Reason', 'Why it happened.', 0, (event) => textIn(event, 'reason')),
  column('Object', 'What it happened to.', 0, (event) => involvedObject(event)),
  column('Subobject', 'The part of the object that it happened to.', 1, (event) =>
    textIn(structIn(event, 'involvedObject'), 'fieldPath'),
  ),
  column('Source', 'Who tells of it.', 1, (event) => source(event)),
  column('Message', 'What happened.', 0, (event) => textIn(event, 'message').trim()),
  column('First Seen', 'When it first happened.', 1, firstSeen),
  column('Count', 'How often it has happened.', 1, (event) => count(event)),
  { ...column('Name', 'The name of the Event.', 1, ({ metadata }) => metadata.name), isName: true },
];

function column(
  name: string,
  description: string,
  priority: number,
  cell: ColumnDefinition['cell'],
): ColumnDefinition {
  return { name, type: 'string', description, priority, cell };
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

function count(event: ApiObject): number {
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

function source(event: ApiObject): string {
  const { component, host } = structIn(event, 'source');
  const instance = host ?? textIn(event, 'reportingInstance');
  const teller = component ?? textIn(event, 'reportingComponent');
  return instance === '' ? String(teller) : `${teller}, ${instance}`;
}
