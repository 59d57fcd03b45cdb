import { expect } from 'vitest';
import type { Answer } from './target.ts';

/** What a server chooses itself, so that only its form can be expected. */
export const anUid: string = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
export const aRevision: string = expect.stringMatching(/^[1-9]\d*$/);
export const aTime: string = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

type Fields = Readonly<Record<string, unknown>>;

/** Expects this status code and exactly this body. Of a refusal, the prose does not count. */
export function expectAnswer(answer: Answer, code: number, body: unknown): void {
  const { code: found, text } = answer;
  expect({ code: found, body: withoutProse(JSON.parse(text)) }).toEqual({ code, body: withoutProse(body) });
}

/** A refusal without its messages, and with each cause once: a real server finds some problems twice. */
export function withoutProse(body: unknown): unknown {
  const { kind, status, message: _, ...facts } = body as Fields;
  if (kind !== 'Status' || status !== 'Failure') return body;
  const { causes, ...subject } = (facts['details'] ?? {}) as { readonly causes?: readonly Fields[] };
  const found = causes?.map(
    ({ message: __, ...cause }) => [`${cause['field']} ${cause['reason']}`, cause] as const,
  );
  const unique = found && [...new Map(found)].sort(([one], [other]) => (one < other ? -1 : 1));
  const details = { ...subject, ...(unique && { causes: unique.map(([, cause]) => cause) }) };
  return { ...facts, ...(facts['details'] !== undefined && { details }) };
}

/** An entry of managedFields for a manager that updates. */
export function updated(manager: string, fieldsV1: Fields, apiVersion = 'coordination.k8s.io/v1'): Fields {
  return { manager, operation: 'Update', apiVersion, time: aTime, fieldsType: 'FieldsV1', fieldsV1 };
}

/** An entry of managedFields for a manager that applies. */
export function applied(manager: string, fieldsV1: Fields, apiVersion = 'coordination.k8s.io/v1'): Fields {
  return { manager, operation: 'Apply', apiVersion, time: aTime, fieldsType: 'FieldsV1', fieldsV1 };
}

/** A Lease as a server shows it. */
export function lease(
  namespace: string,
  name: string,
  { metadata = {}, spec = {} }: LeaseParts = {},
): Fields {
  return {
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    ...leaseItem(namespace, name, { metadata, spec }),
  };
}

/** A Lease as an item of a list, which gives neither kind nor apiVersion. */
export function leaseItem(
  namespace: string,
  name: string,
  { metadata = {}, spec = {} }: LeaseParts = {},
): Fields {
  return {
    metadata: {
      name,
      namespace,
      uid: anUid,
      resourceVersion: aRevision,
      creationTimestamp: aTime,
      ...metadata,
    },
    spec,
  };
}

/** What tells a Lease from an empty one. */
export interface LeaseParts {
  readonly metadata?: Fields;
  readonly spec?: Fields;
}

/** A Status that refuses; `reason` is '' where the server gives none. */
export function failure(code: number, reason: string, message: unknown, details?: Fields): Fields {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason !== '' && { reason }),
    ...(details && { details }),
    code,
  };
}

/** What an error is about: a resource or a kind, `''` for the core group. */
export interface Subject {
  readonly group: string;
  readonly kind: string;
}

export const leases: Subject = { group: 'coordination.k8s.io', kind: 'leases' };
export const leaseKind: Subject = { group: 'coordination.k8s.io', kind: 'Lease' };
export const leaseCandidates: Subject = { group: 'coordination.k8s.io', kind: 'leasecandidates' };
export const leaseCandidateKind: Subject = { group: 'coordination.k8s.io', kind: 'LeaseCandidate' };
export const namespaces: Subject = { group: '', kind: 'namespaces' };

export function notFound(subject: Subject, name: string): Fields {
  return failure(404, 'NotFound', `${qualified(subject)} "${name}" not found`, detailsOf(subject, name));
}

export function alreadyExists(subject: Subject, name: string): Fields {
  return failure(
    409,
    'AlreadyExists',
    `${qualified(subject)} "${name}" already exists`,
    detailsOf(subject, name),
  );
}

export function conflict(subject: Subject, name: string, problem: string): Fields {
  const message = `Operation cannot be fulfilled on ${qualified(subject)} "${name}": ${problem}`;
  return failure(409, 'Conflict', message, detailsOf(subject, name));
}

/** The conflict of an update that was made on another version of the object than the stored one. */
export function staleUpdate(subject: Subject, name: string): Fields {
  const problem =
    'the object has been modified; please apply your changes to the latest version and try again';
  return conflict(subject, name, problem);
}

/** One thing that is wrong with an object: field, reason and message as in status.details.causes. */
export type Cause = readonly [field: string, reason: string, message: string];

export const required = (field: string, detail = ''): Cause => [
  field,
  'FieldValueRequired',
  withDetail('Required value', detail),
];
export const forbidden = (field: string, detail: string): Cause => [
  field,
  'FieldValueForbidden',
  withDetail('Forbidden', detail),
];
/** `shown` is the value as the message gives it, with its quotes. */
export const invalid = (field: string, shown: string, detail: string): Cause => [
  field,
  'FieldValueInvalid',
  `Invalid value: ${shown}: ${detail}`,
];
export const notSupported = (field: string, shown: string, supported: string): Cause => [
  field,
  'FieldValueNotSupported',
  `Unsupported value: ${shown}: supported values: ${supported}`,
];
export const tooLong = (field: string, detail: string): Cause => [
  field,
  'FieldValueTooLong',
  `Too long: ${detail}`,
];

/** The answer to an invalid object; the message names each cause once. */
export function invalidObject(subject: Subject, name: string, causes: readonly Cause[]): Fields {
  const said = [...new Set(causes.map(([field, , message]) => `${field}: ${message}`))];
  const list = said.length === 1 ? said[0] : `[${said.join(', ')}]`;
  return failure(422, 'Invalid', `${qualified(subject)} "${name}" is invalid: ${list}`, {
    ...detailsOf(subject, name),
    causes: causes.map(([field, reason, message]) => ({ reason, message, field })),
  });
}

/** The answer to invalid parameters: `kind` is CreateOptions, PatchOptions, ... */
export function invalidOptions(kind: string, causes: readonly Cause[]): Fields {
  return invalidObject({ group: 'meta.k8s.io', kind }, '', causes);
}

/** The answer to an apply that would take fields from others: `[manager as the message names it, field path]`. */
export function applyConflict(conflicts: readonly (readonly [manager: string, field: string])[]): Fields {
  return failure(
    409,
    'Conflict',
    expect.stringMatching(/^Apply failed with \d+ conflicts?: conflicts? with /),
    {
      causes: conflicts.map(([manager, field]) => ({
        reason: 'FieldManagerConflict',
        message: `conflict with ${manager}`,
        field,
      })),
    },
  );
}

export function badRequest(message: unknown): Fields {
  return failure(400, 'BadRequest', message);
}

/** The answer to a deletion that was carried out at once. */
/** The answer to options of a deletion that cannot be read: older versions take that for an error of their own. */
export function unreadableOptions(minor: number, message: string): readonly [code: number, body: Fields] {
  return minor >= 36 ? [400, badRequest(message)] : [500, failure(500, '', message)];
}

export function deletedStatus(subject: Subject, name: string, uid: string): Fields {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { ...detailsOf(subject, name), uid },
  };
}

/** The answer to who asks for a revision that has not been yet. */
export function revisionTooNew(revision: string): Fields {
  const message = expect.stringMatching(
    new RegExp(`^Timeout: Too large resource version: ${revision}, current: \\d+$`),
  );
  return failure(504, 'Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** The answer where the path is not one of the API's. */
export const noSuchPath: Fields = failure(
  404,
  'NotFound',
  'the server could not find the requested resource',
  {},
);

export const methodNotAllowed: Fields = failure(
  405,
  'MethodNotAllowed',
  'the server does not allow this method on the requested resource',
  {},
);

function qualified({ group, kind }: Subject): string {
  return group === '' ? kind : `${kind}.${group}`;
}

function detailsOf({ group, kind }: Subject, name: string): Fields {
  return { ...(name !== '' && { name }), ...(group !== '' && { group }), kind };
}

function withDetail(message: string, detail: string): string {
  return detail === '' ? message : `${message}: ${detail}`;
}
