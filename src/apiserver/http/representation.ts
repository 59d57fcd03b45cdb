import type { Clock } from '../../support/clock.ts';
import type { JsonObject } from '../../support/json.ts';
import { badRequest } from '../errors/api-error.ts';
import { apiVersionOf, type ColumnDefinition, type VersionDefinition } from '../kinds/definition.ts';
import type { ListForm, Representation } from '../operations/request.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { Transform } from './negotiation.ts';

/** The object in each row of a table: none, its metadata, or the whole object. */
type IncludedObject = 'None' | 'Metadata' | 'Object';
const INCLUDED: readonly IncludedObject[] = ['None', 'Metadata', 'Object'];
const META_VERSION = 'meta.k8s.io/v1';

/** Shows whole objects. */
const plain: Representation = {
  id: 'object',
  show: (object) => object,
  listForm: (metadata, definition, version) => ({
    head: {
      kind: `${definition.kind}List`,
      apiVersion: apiVersionOf(definition, version),
      // kube-apiserver sets an empty continue token on the last page of a list of custom resources.
      metadata: definition.isCustom ? { continue: '', ...metadata } : metadata,
    },
    field: 'items',
    // Items of a list omit apiVersion and kind, except custom resources.
    show: definition.isCustom ? (item) => item : ({ apiVersion: _, kind: __, ...item }) => item,
  }),
};

/** Returns the form of the answer. @throws {ApiError} 400 for an invalid `includeObject` */
export function representationOf(
  transform: Transform | undefined,
  query: URLSearchParams,
  clock: Clock,
): Representation {
  if (transform === undefined) return plain;
  if (transform.kind !== 'Table') return metadataOnly;
  const given = query.get('includeObject') || 'Metadata';
  const included = INCLUDED.find((each) => each === given);
  if (included !== undefined) return tableRepresentation(included, clock);
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(given)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/** Shows only the metadata, for metadata clients and informers. */
const metadataOnly: Representation = {
  id: 'metadata',
  show: (object) => (object.kind === 'Status' ? object : partialMetadata(object)),
  listForm: (metadata) => ({
    head: { kind: 'PartialObjectMetadataList', apiVersion: META_VERSION, metadata },
    field: 'items',
    show: partialMetadata,
  }),
};

const nameColumn: ColumnDefinition = {
  name: 'Name',
  isName: true,
  type: 'string',
  description: 'The name of the object, unique for its kind in its namespace.',
  priority: 0,
  cell: ({ metadata }) => metadata.name ?? '',
};

/** Shows objects as rows of a table, which kubectl prints. */
function tableRepresentation(included: IncludedObject, clock: Clock): Representation {
  const id = `table/${included}`;
  const rowOf = (version: VersionDefinition): ListForm['show'] => {
    const nowSeconds = Number(clock.wallTime() / 1_000_000n);
    const columns = columnsOf(version);
    return (object) => ({
      cells: columns.map(({ cell }) => cell(object, nowSeconds)),
      object: includedIn(object, included),
    });
  };
  const head = (metadata: JsonObject, columnDefinitions: unknown): JsonObject => ({
    kind: 'Table',
    apiVersion: META_VERSION,
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
    show: rowOf(version),
  });
  return {
    id,
    show: showWith(columnDefinitions),
    listForm,
    following: { id: `${id}/rows`, show: showWith(() => null), listForm },
  };
}

/** Adds the name as the first column, unless the resource has its own name column. */
function columnsOf({ columns }: VersionDefinition): readonly ColumnDefinition[] {
  return columns.some(({ isName }) => isName) ? columns : [nameColumn, ...columns];
}

function columnDefinitions(version: VersionDefinition): readonly JsonObject[] {
  return columnsOf(version).map(columnDefinition);
}

function columnDefinition({ name, type, isName, description, priority }: ColumnDefinition): JsonObject {
  return { name, type, format: isName ? 'name' : '', description, priority };
}

function includedIn(object: ApiObject, included: IncludedObject): JsonObject | null {
  if (included === 'None') return null;
  return included === 'Object' ? object : partialMetadata(object);
}

function partialMetadata({ metadata }: ApiObject): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: META_VERSION, metadata };
}
