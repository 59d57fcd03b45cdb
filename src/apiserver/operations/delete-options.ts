import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { badRequest } from '../errors/api-error.ts';
import { type FieldError, invalid, notSupported } from '../errors/field-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { DecodeError, decodeObject } from '../schema/decode.ts';
import type { FieldSchema, StructSchema, TypeSchema } from '../schema/schema.ts';
import { notAnObject, notRegistered, typeProblem } from './object-body.ts';
import { booleanParameter, dryRunProblems, integerParameter, invalidOptions } from './parameters.ts';
import { parseBody } from './parse-body.ts';
import type { ResourceRequest } from './resource-request.ts';

/** How something is to be deleted, validated. */
export interface DeleteOptions {
  readonly isDryRun: boolean;
  /** undefined: whatever is the resource's own way. */
  readonly propagation: 'Background' | 'Foreground' | 'Orphan' | undefined;
  /** False where the client asked not to orphan dependents, in the outdated way: such a deletion is answered with 202. */
  readonly orphanDependents: boolean | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
}

/** The finalizers of an object whose dependents a garbage collector has to orphan, or to delete first. */
export const ORPHAN = 'orphan';
export const FOREGROUND = 'foregroundDeletion';

const POLICIES = ['Foreground', 'Background', 'Orphan', 'nil'] as const;

const optional = (type: TypeSchema): FieldSchema => ({ type, description: '', zero: 'keep' });
const preconditions: StructSchema = {
  kind: 'struct',
  name: 'Preconditions',
  model: 'io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions',
  description: 'What must hold for the object that is to be deleted.',
  fields: { uid: optional({ kind: 'string' }), resourceVersion: optional({ kind: 'string' }) },
};

/** The body that a deletion may have. */
export const deleteOptionsSchema: StructSchema = {
  kind: 'struct',
  name: 'DeleteOptions',
  model: 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
  description: 'How an object is to be deleted.',
  fields: {
    apiVersion: optional({ kind: 'string' }),
    kind: optional({ kind: 'string' }),
    gracePeriodSeconds: optional({ kind: 'int64' }),
    preconditions: optional(preconditions),
    orphanDependents: optional({ kind: 'boolean' }),
    propagationPolicy: optional({ kind: 'string' }),
    dryRun: optional({ kind: 'list', items: { kind: 'string' }, listType: 'atomic' }),
    ignoreStoreReadErrorWithClusterBreakingPotential: optional({ kind: 'boolean' }),
  },
};

/** Reads them from the body or, where there is none, from the query. @throws {ApiError} 400 or 422. */
export function deleteOptions({ query, body, contentType }: ResourceRequest): DeleteOptions {
  const given = body.length > 0 ? fromBody(body, contentType) : fromQuery(query);
  const problems: FieldError[] = [];
  const { orphanDependents, propagationPolicy: policy, dryRun } = given;
  if (orphanDependents !== undefined && policy !== undefined) {
    problems.push(
      invalid('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'),
    );
  }
  const propagation = POLICIES.find((each) => each === policy && each !== 'nil');
  if (policy !== undefined && propagation === undefined) {
    problems.push(notSupported('propagationPolicy', policy, POLICIES));
  }
  problems.push(...dryRunProblems(dryRun));
  if (problems.length > 0) throw invalidOptions('DeleteOptions', problems);
  return {
    isDryRun: dryRun.length > 0,
    propagation:
      orphanDependents === undefined
        ? (propagation as DeleteOptions['propagation'])
        : orphanDependents
          ? 'Orphan'
          : 'Background',
    orphanDependents,
    preconditions: given.preconditions,
  };
}

/** What a garbage collector does about dependents hangs on finalizers of its own. */
export function finalizersFor({ metadata }: ApiObject, propagation: DeleteOptions['propagation']): string[] {
  const given = metadata.finalizers ?? [];
  if (propagation === undefined) return [...given];
  const others = given.filter((each) => each !== ORPHAN && each !== FOREGROUND);
  if (propagation === 'Orphan') return [...others, ORPHAN];
  return propagation === 'Foreground' ? [...others, FOREGROUND] : others;
}

interface Given {
  readonly orphanDependents: boolean | undefined;
  readonly propagationPolicy: string | undefined;
  readonly dryRun: readonly string[];
  readonly preconditions: DeleteOptions['preconditions'];
}

function fromQuery(query: URLSearchParams): Given {
  integerParameter(query, 'gracePeriodSeconds');
  return {
    orphanDependents: booleanParameter(query, 'orphanDependents'),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
    dryRun: query.getAll('dryRun'),
    preconditions: {},
  };
}

function fromBody(body: Buffer, contentType: string): Given {
  const parsed = parseBody(body, contentType);
  if (!parsed.ok) throw badRequest(parsed.problem);
  const given = parsed.value ?? {};
  if (!isJsonObject(given)) throw badRequest(notAnObject(given));
  const problem = typeProblem(given);
  if (problem !== undefined) throw badRequest(problem);
  const { kind = 'DeleteOptions', apiVersion = 'meta.k8s.io/v1' } = given;
  if (kind !== 'DeleteOptions') throw badRequest(notRegistered(String(kind), String(apiVersion)));
  const value = decoded(given);
  return {
    orphanDependents: value['orphanDependents'] as boolean | undefined,
    propagationPolicy: value['propagationPolicy'] as string | undefined,
    dryRun: (value['dryRun'] ?? []) as readonly string[],
    preconditions: (value['preconditions'] ?? {}) as DeleteOptions['preconditions'],
  };
}

function decoded(value: unknown): JsonObject {
  try {
    return decodeObject(deleteOptionsSchema, value).value;
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(error.message);
    throw error;
  }
}
