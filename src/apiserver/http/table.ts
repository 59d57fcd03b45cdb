import type { Clock } from '../../support/clock.ts';
import type { JsonObject } from '../../support/json.ts';
import type { ColumnDefinition, VersionDefinition } from '../kinds/definition.ts';
import type { ListForm, Representation } from '../operations/resource-request.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { partialMetadata } from './partial-metadata.ts';

/** What a row of a table has beside its cells. */
export type IncludedObject = 'None' | 'Metadata' | 'Object';

const nameColumn: ColumnDefinition = {
  name: 'Name',
  isName: true,
  type: 'string',
  description: 'What the object is called: no other of its kind in the same namespace has this name.',
  priority: 0,
  cell: ({ metadata }) => metadata.name ?? '',
};

/** Objects as rows, which kubectl prints. `metaVersion` is the version of meta.k8s.io. */
export function tableRepresentation(
  metaVersion: string,
  included: IncludedObject,
  clock: Clock,
): Representation {
  const id = `table/${metaVersion}/${included}`;
  const rowOf = (version: VersionDefinition): ListForm['show'] => {
    const nowSeconds = Number(clock.wallTime() / 1_000_000n);
    const columns = columnsOf(version);
    return (object) => ({
      cells: columns.map(({ cell }) => cell(object, nowSeconds)),
      object: includedIn(object, included, metaVersion),
    });
  };
  const head = (metadata: JsonObject, columnDefinitions: unknown): JsonObject => ({
    kind: 'Table',
    apiVersion: `meta.k8s.io/${metaVersion}`,
    metadata,
    columnDefinitions,
  });
  const showWith =
    (definitionsOf: (version: VersionDefinition) => unknown): Representation['show'] =>
    (object, version) => {
      if (object.kind === 'Status') return object;
      const { resourceVersion } = object.metadata;
      return { ...head({ resourceVersion }, definitionsOf(version)), rows: [rowOf(version)(object)] };
    };
  const listForm: Representation['listForm'] = (metadata, _, version) => ({
    head: head(metadata, columnDefinitions(version)),
    field: 'rows',
    none: [],
    show: rowOf(version),
  });
  return {
    id,
    show: showWith(columnDefinitions),
    listForm,
    following: { id: `${id}/rows`, show: showWith(() => null), listForm },
  };
}

/** The name comes first, unless the resource has a place of its own for it. */
function columnsOf({ columns }: VersionDefinition): readonly ColumnDefinition[] {
  return columns.some(({ isName }) => isName) ? columns : [nameColumn, ...columns];
}

function columnDefinitions(version: VersionDefinition): readonly JsonObject[] {
  return columnsOf(version).map(columnDefinition);
}

function columnDefinition({ name, type, isName, description, priority }: ColumnDefinition): JsonObject {
  return { name, type, format: isName ? 'name' : '', description, priority };
}

function includedIn(object: ApiObject, included: IncludedObject, metaVersion: string): JsonObject | null {
  if (included === 'None') return null;
  return included === 'Object' ? object : partialMetadata(object, metaVersion);
}
