import { ApiError } from '../errors/api-error.ts';

export type MediaType = 'application/json' | 'application/yaml';

/** Typed clients of client-go use this format since 0.32. */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** A requested transformation of the object: `as=Table;g=meta.k8s.io;v=v1`. */
export interface Transform {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The agreed format of an answer. */
export interface Negotiated {
  readonly mediaType: MediaType;
  /** Whether a parameter of the media type asks for indented JSON. See also {@link isPrettyWanted}. */
  readonly isPretty: boolean;
  readonly transform: Transform | undefined;
}

/** In the server's order of preference. */
export const acceptedTypes: readonly string[] = ['application/json', 'application/yaml', PROTOBUF];
export const streamedTypes: readonly string[] = ['application/json;stream=watch', `${PROTOBUF};stream=watch`];

/** Whether an endpoint supports a transformation. */
export type Forms = (transform: Transform) => boolean;

export const noForms: Forms = () => false;

export const resourceForms: Forms = ({ group, version, kind }) =>
  group === 'meta.k8s.io' &&
  version === 'v1' &&
  (kind === 'Table' || kind === 'PartialObjectMetadata' || kind === 'PartialObjectMetadataList');

/** Returns the first clause of an Accept header that the endpoint can serve. An empty header accepts every format. */
export function negotiate(accept: string, hasForm: Forms): Negotiated | undefined {
  if (accept === '') return { mediaType: 'application/json', isPretty: false, transform: undefined };
  for (const { type, subtype, parameters } of parseAccept(accept)) {
    for (const accepted of acceptedTypes) {
      const isMeant =
        accepted === `${type}/${subtype}` || (subtype === '*' && (type === '*' || type === 'application'));
      const agreed = isMeant ? agree(accepted, parameters, hasForm) : undefined;
      if (agreed) return agreed;
    }
  }
  return undefined;
}

function agree(
  accepted: string,
  parameters: readonly (readonly [string, string])[],
  hasForm: Forms,
): Negotiated | undefined {
  // A client that accepts protobuf also accepts JSON: it decodes by the Content-Type of the answer.
  const mediaType = accepted === 'application/yaml' ? accepted : 'application/json';
  const wanted: { group?: string; version?: string; kind?: string } = {};
  let isPretty = false;
  for (const [name, value] of parameters) {
    if (name === 'as') wanted.kind = value;
    else if (name === 'g') wanted.group = value;
    else if (name === 'v') wanted.version = value;
    else if (name === 'stream' && (value !== 'watch' || mediaType === 'application/yaml')) return undefined;
    else if (name === 'pretty') isPretty = value === '1';
  }
  if (Object.keys(wanted).length === 0) return { mediaType, isPretty, transform: undefined };
  const transform = { group: '', version: '', kind: '', ...wanted };
  // kube-apiserver has no tables in protobuf.
  if (accepted === PROTOBUF && transform.kind === 'Table') return undefined;
  return hasForm(transform) ? { mediaType, isPretty, transform } : undefined;
}

/** 406: the endpoint supports the media types, but not with these parameters. */
export function notAcceptable(accepted: readonly string[] = acceptedTypes): ApiError {
  return new ApiError(
    406,
    'NotAcceptable',
    `only the following media types are accepted: ${accepted.join(', ')}`,
  );
}

/** 406: the endpoint supports none of the media types. */
export function noRepresentation(available: readonly string[]): ApiError {
  return new ApiError(
    406,
    'NotAcceptable',
    `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`,
    {},
  );
}

/** Whether JSON is indented. Without the query parameter, only curl, Wget and browsers get indented JSON. */
export function isPrettyWanted(query: URLSearchParams, userAgent: string): boolean {
  const pretty = query.get('pretty');
  if (pretty) return ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(pretty);
  return /^(?:curl|Wget|Mozilla\/5\.0)/.test(userAgent);
}

/** One clause of an Accept header: `application/json;as=Table;v=v1;q=0.9`. */
interface AcceptClause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  /** All parameters except `q`. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

/** Limits the time of the sort, which is quadratic. */
const MAX_CLAUSES = 100;

/** Parses an Accept header. Returns its well-formed clauses by precedence. */
export function parseAccept(header: string): readonly AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const part of header.split(',', MAX_CLAUSES)) {
    const clause = parseClause(part);
    if (clause === undefined) continue;
    // Insertion sort, because `precedes` is not a strict order, as in kube-apiserver.
    let index = clauses.length;
    for (let before = clauses[index - 1]; before && precedes(clause, before); before = clauses[index - 1]) {
      index -= 1;
    }
    clauses.splice(index, 0, clause);
  }
  return clauses;
}

/** Whether a header contains one of `types` or a wildcard. Parameters are ignored. */
export function namesOneOf(header: string, types: readonly string[]): boolean {
  return header.split(',', MAX_CLAUSES).some((part) => {
    const type = (part.split(';', 1)[0] ?? '').trim();
    return type === '*/*' || types.includes(type);
  });
}

function parseClause(text: string): AcceptClause | undefined {
  const [range = '', ...rest] = text.split(';');
  const [type = '', subtype = type === '*' ? '*' : '', ...more] = range.split('/').map((each) => each.trim());
  if (subtype === '' || more.length > 0) return undefined;
  const parameters: (readonly [string, string])[] = [];
  let quality = 1;
  for (const parameter of rest) {
    const [name = '', value = '', ...excess] = parameter.split('=').map((each) => each.trim());
    if (value === '' || excess.length > 0) continue;
    if (name === 'q') quality = Number(value) || 0;
    else parameters.push([name, value]);
  }
  return { type, subtype, quality, parameters };
}

function precedes(one: AcceptClause, other: AcceptClause): boolean {
  if (one.quality > other.quality) return true;
  if (one.type !== '*' && other.type === '*') return true;
  return one.subtype !== '*' && other.subtype === '*';
}
