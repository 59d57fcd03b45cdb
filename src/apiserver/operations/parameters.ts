import { type ApiError, badRequest, invalidObject } from '../errors/api-error.ts';
import { type FieldError, forbidden, notSupported, required } from '../errors/field-error.ts';
import { managerProblems } from '../kinds/validation.ts';
import { type FieldRequirement, parseFieldRequirements } from '../selectors/field-selector.ts';
import { type LabelMatcher, parseLabelSelector } from '../selectors/label-selector.ts';

/** The validated parameters of a write. */
export interface WriteOptions {
  readonly isDryRun: boolean;
  /** '' if absent. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
}

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** The validated parameters of a list or a watch. */
export interface ListOptions {
  /** Undefined: all objects. */
  readonly matchesLabels: LabelMatcher | undefined;
  /** May contain fields that the resource does not have. */
  readonly fieldRequirements: readonly FieldRequirement[];
  readonly isWatch: boolean;
  readonly allowsBookmarks: boolean;
  /** '' if absent. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan';
  readonly sendInitialEvents: boolean | undefined;
  readonly timeoutSeconds: number | undefined;
  /** 0: no limit. */
  readonly limit: number;
  readonly continueToken: string;
}

const META_GROUP = 'meta.k8s.io';
const MATCHES = ['Exact', 'NotOlderThan', ''] as const;
const FIELD_VALIDATIONS = ['', 'Ignore', 'Strict', 'Warn'] as const;

/** @throws {ApiError} 400 or 422 that names the parameter. */
export function createOptions(query: URLSearchParams): WriteOptions {
  return writeOptions('CreateOptions', query, []);
}

/** @throws {ApiError} 400 or 422 that names the parameter. */
export function updateOptions(query: URLSearchParams): WriteOptions {
  return writeOptions('UpdateOptions', query, []);
}

/** @throws {ApiError} 400 or 422 that names the parameter. */
export function patchOptions(
  query: URLSearchParams,
  isApply: boolean,
): WriteOptions & { readonly isForced: boolean } {
  const force = booleanParameter(query, 'force');
  const problems: FieldError[] = [];
  if (isApply && text(query, 'fieldManager') === '') {
    problems.push(required('fieldManager', 'is required for apply patch'));
  }
  if (!isApply && force !== undefined) {
    problems.push(forbidden('force', 'may not be specified for non-apply patch'));
  }
  return { ...writeOptions('PatchOptions', query, problems), isForced: force ?? false };
}

/** @throws {ApiError} 400 or 422 that names the parameter. */
export function listOptions(query: URLSearchParams): ListOptions {
  const timeoutSeconds = integerParameter(query, 'timeoutSeconds');
  const limit = integerParameter(query, 'limit') ?? 0;
  const labelSelector = text(query, 'labelSelector');
  const matchesLabels = labelSelector === '' ? undefined : parseLabelSelector(labelSelector);
  const given = {
    matchesLabels,
    fieldRequirements: parseFieldRequirements(text(query, 'fieldSelector')),
    isWatch: booleanParameter(query, 'watch') ?? false,
    allowsBookmarks: booleanParameter(query, 'allowWatchBookmarks') ?? false,
    resourceVersion: text(query, 'resourceVersion'),
    sendInitialEvents: booleanParameter(query, 'sendInitialEvents'),
    timeoutSeconds,
    limit,
    continueToken: text(query, 'continue'),
  };
  const match = text(query, 'resourceVersionMatch');
  const withDefaults = defaultsOfWatch({ ...given, match });
  const problems = given.isWatch ? watchProblems(withDefaults) : listProblems(withDefaults);
  if (problems.length > 0) throw invalidOptions('ListOptions', problems);
  return {
    ...given,
    sendInitialEvents: withDefaults.sendInitialEvents,
    resourceVersionMatch: MATCHES.find((each) => each === withDefaults.match) ?? '',
  };
}

interface Versioning {
  readonly isWatch: boolean;
  readonly resourceVersion: string;
  readonly match: string;
  readonly sendInitialEvents: boolean | undefined;
  readonly continueToken: string;
}

/** A watch without a resourceVersion begins with the current state. */
function defaultsOfWatch<T extends Versioning>(options: T): T {
  const { isWatch, sendInitialEvents, match, resourceVersion } = options;
  const isFromAnywhere = resourceVersion === '' || resourceVersion === '0';
  if (!isWatch || sendInitialEvents !== undefined || match !== '' || !isFromAnywhere) return options;
  return { ...options, sendInitialEvents: true, match: 'NotOlderThan' };
}

function listProblems({ match, resourceVersion, continueToken, sendInitialEvents }: Versioning) {
  const problems: FieldError[] = [];
  const field = 'resourceVersionMatch';
  if (match !== '') {
    if (resourceVersion === '') {
      problems.push(forbidden(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    }
    if (continueToken !== '') {
      problems.push(forbidden(field, 'resourceVersionMatch is forbidden when continue is provided'));
    }
    if (match !== 'Exact' && match !== 'NotOlderThan') problems.push(notSupported(field, match, MATCHES));
    if (match === 'Exact' && resourceVersion === '0') {
      problems.push(forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (sendInitialEvents !== undefined) {
    problems.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return problems;
}

function watchProblems({ match, continueToken, sendInitialEvents }: Versioning) {
  const problems: FieldError[] = [];
  const field = 'resourceVersionMatch';
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    problems.push(
      forbidden(field, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    );
  }
  if (match !== '') {
    if (sendInitialEvents === undefined) {
      problems.push(
        forbidden(field, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'),
      );
    }
    if (match !== 'NotOlderThan') problems.push(notSupported(field, match, ['NotOlderThan']));
    if (continueToken !== '') {
      problems.push(forbidden(field, 'resourceVersionMatch is forbidden when continue is provided'));
    }
  }
  return problems;
}

function writeOptions(kind: string, query: URLSearchParams, found: readonly FieldError[]): WriteOptions {
  const fieldManager = text(query, 'fieldManager');
  const dryRun = query.getAll('dryRun');
  const fieldValidation = text(query, 'fieldValidation');
  const problems = [...found, ...managerProblems(fieldManager, 'fieldManager'), ...dryRunProblems(dryRun)];
  if (!FIELD_VALIDATIONS.some((each) => each === fieldValidation)) {
    problems.push(notSupported('fieldValidation', fieldValidation, FIELD_VALIDATIONS));
  }
  if (problems.length > 0) throw invalidOptions(kind, problems);
  return {
    isDryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
  };
}

export function invalidOptions(kind: string, problems: readonly FieldError[]): ApiError {
  return invalidObject({ group: META_GROUP, name: kind }, '', problems);
}

export function dryRunProblems(dryRun: readonly string[]): FieldError[] {
  return dryRun.every((each) => each === 'All') ? [] : [notSupported('dryRun', dryRun, ['All'])];
}

function text(query: URLSearchParams, name: string): string {
  return query.get(name) ?? '';
}

/** Every value except `0` and `false` is true, including the empty value. */
export function booleanParameter(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  return value === null ? undefined : value !== '0' && value.toLowerCase() !== 'false';
}

/** @throws {ApiError} 400 */
export function integerParameter(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (/^[+-]?\d{1,18}$/.test(value)) return Number(value);
  throw badRequest(`${name} must be an integer, not ${JSON.stringify(value)}`);
}
