import { expect } from 'vitest';
import type { Answer } from './target.ts';

/** A value that the server chooses, so that only its form is checked. */
export const anUid: string = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
export const aRevision: string = expect.stringMatching(/^[1-9]\d*$/);
export const aTime: string = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

type Fields = Readonly<Record<string, unknown>>;

/** Expects this status code and exactly this body. Ignores the message of a refusal. */
export function expectAnswer(answer: Answer, code: number, body: unknown): void {
  const { code: found, text } = answer;
  expect({ code: found, body: withoutProse(JSON.parse(text)) }).toEqual({ code, body: withoutProse(body) });
}

/**
 * Returns a refusal without its messages, and with each cause once, sorted: a real server reports some problems
 * twice. Returns other bodies unchanged.
 */
export function withoutProse(body: unknown): unknown {
  const status = body as {
    readonly kind?: unknown;
    readonly status?: unknown;
    readonly details?: unknown;
  } | null;
  if (status?.kind !== 'Status' || status.status !== 'Failure') return body;
  const { message: _, details, ...facts } = body as { readonly message?: unknown } & Record<string, unknown>;
  return { ...facts, ...(details !== undefined && { details: withoutMessages(details) }) };
}

function withoutMessages(details: unknown): unknown {
  const { causes, ...subject } = details as { readonly causes?: readonly Fields[] };
  if (causes === undefined) return subject;
  const facts = causes.map(({ message: _, ...cause }) => cause);
  const unique = new Map(facts.map((cause) => [`${cause['field']} ${cause['reason']}`, cause]));
  return {
    ...subject,
    causes: [...unique].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, cause]) => cause),
  };
}

/** An entry of managedFields for a manager that updates. */
export function updated(manager: string, fieldsV1: Fields, apiVersion = 'coordination.k8s.io/v1'): Fields {
  return { manager, operation: 'Update', apiVersion, time: aTime, fieldsType: 'FieldsV1', fieldsV1 };
}

/** An entry of managedFields for a manager that applies. */
export function applied(manager: string, fieldsV1: Fields, apiVersion = 'coordination.k8s.io/v1'): Fields {
  return { manager, operation: 'Apply', apiVersion, time: aTime, fieldsType: 'FieldsV1', fieldsV1 };
}

/** A Lease as a server returns it. */
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

/** A Lease as an item of a list, without kind and apiVersion. */
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

/** The fields of a non-empty Lease. */
export interface LeaseParts {
  readonly metadata?: Fields;
  readonly spec?: Fields;
}

/** A Status of a refusal, without its message; `reason` is '' if the server gives none. */
export function failure(code: number, reason: string, details?: Fields): Fields {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    ...(reason !== '' && { reason }),
    ...(details && { details }),
    code,
  };
}

/** The subject of an error: a resource or a kind, `''` for the core group. */
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
  return failure(404, 'NotFound', detailsOf(subject, name));
}

export function alreadyExists(subject: Subject, name: string): Fields {
  return failure(409, 'AlreadyExists', detailsOf(subject, name));
}

export function conflict(subject: Subject, name: string): Fields {
  return failure(409, 'Conflict', detailsOf(subject, name));
}

/** A problem of an object: field and reason as in status.details.causes. */
export type Cause = readonly [field: string, reason: string];

export const required = (field: string): Cause => [field, 'FieldValueRequired'];
export const forbidden = (field: string): Cause => [field, 'FieldValueForbidden'];
export const invalid = (field: string): Cause => [field, 'FieldValueInvalid'];
export const notSupported = (field: string): Cause => [field, 'FieldValueNotSupported'];
export const tooLong = (field: string): Cause => [field, 'FieldValueTooLong'];

/** The answer to an invalid object. */
export function invalidObject(subject: Subject, name: string, causes: readonly Cause[]): Fields {
  return failure(422, 'Invalid', {
    ...detailsOf(subject, name),
    causes: causes.map(([field, reason]) => ({ reason, field })),
  });
}

/** The answer to invalid parameters: `kind` is CreateOptions, PatchOptions, ... */
export function invalidOptions(kind: string, causes: readonly Cause[]): Fields {
  return invalidObject({ group: 'meta.k8s.io', kind }, '', causes);
}

/** The answer to an apply that would take these fields from other managers. */
export function applyConflict(fields: readonly string[]): Fields {
  return failure(409, 'Conflict', {
    causes: fields.map((field) => ({ reason: 'FieldManagerConflict', field })),
  });
}

export function badRequest(): Fields {
  return failure(400, 'BadRequest');
}

/** The answer to unreadable options of a deletion. Older versions answer with an internal error. */
export function unreadableOptions(minor: number): readonly [code: number, body: Fields] {
  return minor >= 36 ? [400, badRequest()] : [500, failure(500, '')];
}

/** The answer to an immediate deletion. */
export function deletedStatus(subject: Subject, name: string, uid: string): Fields {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { ...detailsOf(subject, name), uid },
  };
}

/** The answer to a request for a future revision. */
export const revisionTooNew: Fields = failure(504, 'Timeout', {
  causes: [{ reason: 'ResourceVersionTooLarge' }],
  retryAfterSeconds: 1,
});

/** The answer to a path outside of the API. */
export const noSuchPath: Fields = failure(404, 'NotFound', {});

export const methodNotAllowed: Fields = failure(405, 'MethodNotAllowed', {});

function detailsOf({ group, kind }: Subject, name: string): Fields {
  return { ...(name !== '' && { name }), ...(group !== '' && { group }), kind };
}
