import { ApiError } from '../errors/api-error.ts';
import { parseAccept } from './accept.ts';

/** What answers are written in. */
export type MediaType = 'application/json' | 'application/yaml';

/** What client-go's typed clients send since 0.32, and prefer to be answered in. */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** Another kind of object that the client wants instead: `as=Table;g=meta.k8s.io;v=v1`. */
export interface Transform {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** What client and server agree on for an answer. */
export interface Negotiated {
  readonly mediaType: MediaType;
  /** By a parameter of the media type; the query and the User-Agent may ask for it too. */
  readonly isPretty: boolean;
  readonly transform: Transform | undefined;
}

/** What an endpoint can do beyond showing its object as it is. */
export interface Restrictions {
  allowsTransform(transform: Transform): boolean;
  /** Whether the parameter `sv=v1` may be given. */
  readonly allowsServerVersion: boolean;
}

/** What may be asked for, in the order in which it is given to those who take anything. */
export const acceptedTypes: readonly string[] = ['application/json', 'application/yaml', PROTOBUF];
/** The same for watches. */
export const streamedTypes: readonly string[] = ['application/json;stream=watch', `${PROTOBUF};stream=watch`];

/** For what has no other form, like errors. */
export const plainOnly: Restrictions = { allowsTransform: () => false, allowsServerVersion: false };

/** Objects, their tables and their metadata. */
export const resourceForms: Restrictions = {
  allowsTransform: ({ group, version, kind }) =>
    group === 'meta.k8s.io' &&
    (version === 'v1' || version === 'v1beta1') &&
    (kind === 'Table' || kind === 'PartialObjectMetadata' || kind === 'PartialObjectMetadataList'),
  allowsServerVersion: true,
};

/** The first thing a client accepts that the endpoint can do; undefined: there is none. '' accepts anything. */
export function negotiate(accept: string, restrictions: Restrictions): Negotiated | undefined {
  if (accept === '') return { mediaType: 'application/json', isPretty: false, transform: undefined };
  for (const { type, subtype, parameters } of parseAccept(accept)) {
    for (const accepted of acceptedTypes) {
      const isMeant =
        accepted === `${type}/${subtype}` || (subtype === '*' && (type === '*' || type === 'application'));
      const agreed = isMeant ? agree(accepted, parameters, restrictions) : undefined;
      if (agreed) return agreed;
    }
  }
  return undefined;
}

function agree(
  accepted: string,
  parameters: readonly (readonly [string, string])[],
  restrictions: Restrictions,
): Negotiated | undefined {
  // Whoever reads protobuf reads JSON too, and goes by what the answer says it is.
  const mediaType = accepted === 'application/yaml' ? accepted : 'application/json';
  const wanted: { group?: string; version?: string; kind?: string } = {};
  let isPretty = false;
  for (const [name, value] of parameters) {
    if (name === 'as') wanted.kind = value;
    else if (name === 'g') wanted.group = value;
    else if (name === 'v') wanted.version = value;
    else if (name === 'stream' && (value !== 'watch' || mediaType === 'application/yaml')) return undefined;
    else if (name === 'sv' && (value !== 'v1' || !restrictions.allowsServerVersion)) return undefined;
    else if (name === 'pretty') isPretty = value === '1';
  }
  if (Object.keys(wanted).length === 0) return { mediaType, isPretty, transform: undefined };
  const transform = { group: '', version: '', kind: '', ...wanted };
  // There never were tables in protobuf: those who ask for them go on to the next they accept.
  if (accepted === PROTOBUF && transform.kind === 'Table') return undefined;
  return restrictions.allowsTransform(transform) ? { mediaType, isPretty, transform } : undefined;
}

/** 406 for an endpoint that knows the media types asked for, but not what is asked of them. */
export function notAcceptable(accepted: readonly string[] = acceptedTypes): ApiError {
  return new ApiError(
    406,
    'NotAcceptable',
    `only the following media types are accepted: ${accepted.join(', ')}`,
  );
}

/** 406 for an endpoint that writes none of the media types asked for. */
export function noRepresentation(available: readonly string[]): ApiError {
  return new ApiError(
    406,
    'NotAcceptable',
    `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`,
    {},
  );
}

/** Whether an answer is laid out for people: said in the query, or because the client is one of those that people use. */
export function isPrettyWanted(query: URLSearchParams, userAgent: string): boolean {
  const pretty = query.get('pretty');
  if (pretty) return ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(pretty);
  return /^(?:curl|Wget|Mozilla\/5\.0)/.test(userAgent);
}
