import type { Clock } from '../../support/clock.ts';
import { ApiError, badRequest } from '../errors/api-error.ts';
import { apiVersionOf } from '../kinds/definition.ts';
import type { Representation } from '../operations/resource-request.ts';
import type { Transform } from './negotiation.ts';
import { partialMetadata } from './partial-metadata.ts';
import { type IncludedObject, tableRepresentation } from './table.ts';

/** Objects as they are. */
const plain: Representation = {
  id: 'object',
  show: (object) => object,
  listForm: (metadata, definition, version) => ({
    head: {
      kind: `${definition.kind}List`,
      apiVersion: apiVersionOf(definition, version),
      // Lists of custom resources say even where they end.
      metadata: definition.isCustom ? { continue: '', ...metadata } : metadata,
    },
    field: 'items',
    none: [],
    // What every item would repeat is said once, but for custom resources.
    show: definition.isCustom ? (item) => item : ({ apiVersion: _, kind: __, ...item }) => item,
  }),
};

/**
 * How objects are to be shown. Where the query asks for what a table cannot include, showing them is refused, but not what
 * the request does; a watch does nothing else.
 * @throws {ApiError} 400 for such a watch
 */
export function representationOf(
  transform: Transform | undefined,
  query: URLSearchParams,
  isWatch: boolean,
  clock: Clock,
): Representation {
  if (transform === undefined) return plain;
  const { kind, version } = transform;
  if (kind === 'Table') {
    const given = query.get('includeObject') ?? '';
    const included = includedObject(given);
    if (included !== undefined) return tableRepresentation(version, included, clock);
    if (isWatch) throw cannotInclude(given);
    return refusing(() => cannotInclude(given));
  }
  // The events of a watch are objects, whatever was asked for.
  return metadataRepresentation(version, kind === 'PartialObjectMetadataList' && !isWatch);
}

/** `ofList`: which of the two forms the client named; the other it cannot read. */
function metadataRepresentation(version: string, ofList: boolean): Representation {
  const apiVersion = `meta.k8s.io/${version}`;
  const refused = (problem: string) => new ApiError(406, 'NotAcceptable', problem);
  return {
    id: `metadata/${version}`,
    show(object, { schema }) {
      if (object.kind === 'Status') return object;
      if (!ofList) return partialMetadata(object, version);
      if (schema.isStructural) throw new ApiError(500, '', 'content is not a list');
      const type = goType(object.apiVersion, object.kind);
      throw refused(
        `you requested PartialObjectMetadataList, but the requested object is not a list (${type})`,
      );
    },
    listForm(metadata, definition, { version: own }) {
      if (ofList) {
        return {
          head: { kind: 'PartialObjectMetadataList', apiVersion, metadata },
          field: 'items',
          // As the real server does.
          none: null,
          show: (item) => partialMetadata(item, version),
        };
      }
      const type = definition.isCustom
        ? '*unstructured.UnstructuredList'
        : goType(`${definition.group}/${own}`, `${definition.kind}List`);
      throw refused(`you requested PartialObjectMetadata, but the requested object is a list (${type})`);
    },
  };
}

function refusing(refusal: () => ApiError): Representation {
  const refuse = () => {
    throw refusal();
  };
  return { id: 'refused', show: refuse, listForm: refuse };
}

/** Undefined: there is no such thing. */
function includedObject(given: string): IncludedObject | undefined {
  switch (given) {
    case '':
    case 'Metadata':
      return 'Metadata';
    case 'None':
    case 'Object':
      return given;
    default:
      return undefined;
  }
}

function cannotInclude(given: string): ApiError {
  return badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(given)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/** How the server that clients know names a type. */
function goType(apiVersion: string, kind: string): string {
  const [group = ''] = apiVersion.split('/');
  return `*${group.startsWith('coordination.') ? 'coordination' : 'core'}.${kind}`;
}
