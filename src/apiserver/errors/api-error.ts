import type { FieldError } from './field-error.ts';

/** A Status of the API (metav1.Status): the body of every answer that is not an object. */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string };
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** The subject of an error: a resource (plural), or a kind for invalid objects, with its group. */
export interface Subject {
  readonly group: string;
  readonly name: string;
}

/** An error response, with its Status. */
export class ApiError extends Error {
  readonly status: Status & { readonly code: number };

  constructor(
    code: number,
    reason: string,
    message: string,
    details?: StatusDetails,
    metadata: Status['metadata'] = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata,
      status: 'Failure',
      message,
      ...(reason !== '' && { reason }),
      ...(details && { details }),
      code,
    };
  }
}

/** Returns `leases.coordination.k8s.io`, or `namespaces` in the core group. */
function qualified({ group, name }: Subject): string {
  return group === '' ? name : `${name}.${group}`;
}

/** Returns an error with status 500 and no reason, as kube-apiserver does for an error without a Status. */
export function plainError(message: string): ApiError {
  return new ApiError(500, '', message);
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

/** `resource` is plural, here and in the functions below. */
export function notFound(resource: Subject, name: string): ApiError {
  return new ApiError(
    404,
    'NotFound',
    `${qualified(resource)} ${JSON.stringify(name)} not found`,
    details(resource, name),
  );
}

export function alreadyExists(resource: Subject, name: string): ApiError {
  return new ApiError(
    409,
    'AlreadyExists',
    `${qualified(resource)} ${JSON.stringify(name)} already exists`,
    details(resource, name),
  );
}

export function conflict(resource: Subject, name: string, problem: string): ApiError {
  return new ApiError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(resource)} ${JSON.stringify(name)}: ${problem}`,
    details(resource, name),
  );
}

export function forbiddenRequest(resource: Subject, name: string, problem: string): ApiError {
  const what = name === '' ? qualified(resource) : `${qualified(resource)} ${JSON.stringify(name)}`;
  return new ApiError(403, 'Forbidden', `${what} is forbidden: ${problem}`, details(resource, name));
}

/** Maximum number of problems in an error response. */
const MAX_CAUSES = 100;

/** The object has invalid fields. `kind` is a Kind with its group. */
export function invalidObject(kind: Subject, name: string, problems: readonly FieldError[]): ApiError {
  // Two checks may find the same problem. The message contains it once, and the causes contain it twice.
  const said = [
    ...new Set(problems.slice(0, MAX_CAUSES).map(({ field, message }) => `${field}: ${message}`)),
  ];
  const list = said.length === 1 ? said[0] : `[${said.join(', ')}]`;
  return new ApiError(422, 'Invalid', `${qualified(kind)} ${JSON.stringify(name)} is invalid: ${list}`, {
    ...details(kind, name),
    causes: problems.slice(0, MAX_CAUSES).map(({ reason, message, field }) => ({ reason, message, field })),
  });
}

function details({ group, name: kind }: Subject, name: string): StatusDetails {
  return { ...(name !== '' && { name }), ...(group !== '' && { group }), ...(kind !== '' && { kind }) };
}

/** 405 */
export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiError(405, 'MethodNotAllowed', message, {});
}

/** The request exceeds the time limit of kube-apiserver. */
export function timedOut(): ApiError {
  const message = 'Timeout: request did not complete within requested timeout - context deadline exceeded';
  return new ApiError(504, 'Timeout', message, {});
}
