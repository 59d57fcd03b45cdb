import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../support/json.ts';
import { type FieldError, forbidden, invalid, required, tooLong } from '../errors/field-error.ts';
import type { ApiObject, ManagedFieldsEntry, ObjectMeta } from '../schema/api-object.ts';
import type { NameRule, ResourceDefinition } from './definition.ts';

const MAX_ANNOTATION_BYTES = 256 * 1024;
const LONGEST_MANAGER = 128;
const LONGEST_SUBRESOURCE = 256;
const LONGEST_LABEL = 63;
const LONGEST_SUBDOMAIN = 253;
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;
const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

/** A pattern for texts, and the problem of a text that does not match it. */
interface Pattern {
  readonly expression: RegExp;
  readonly problem: string;
}

const label: Pattern = {
  expression: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  problem: "must consist of lower case letters, digits and '-', and start and end with a letter or digit",
};
const subdomain: Pattern = {
  expression: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  problem:
    "must consist of lower case letters, digits, '-' and '.', each part starting and ending with a letter or digit",
};
const labelKey: Pattern = {
  expression: /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/,
  problem: "must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit",
};
const labelValue: Pattern = {
  expression: /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/,
  problem:
    "must be empty, or consist of letters, digits, '-', '_' and '.', starting and ending with a letter or digit",
};
const configMapKey: Pattern = {
  expression: /^[-._a-zA-Z0-9]+$/,
  problem: "must consist of letters, digits, '-', '_' and '.'",
};

/** The rules for metadata that differ between resources. */
export type MetadataRules = Pick<ResourceDefinition, 'isNamespaced' | 'nameProblems'>;

/** Returns all problems of an object in hub form without duplicates. `old` is given for an update. */
export function validateObject(
  definition: ResourceDefinition,
  object: ApiObject,
  old?: ApiObject,
): readonly FieldError[] {
  const problems = [...validateMetadataOf(object, old, definition), ...definition.validate(object, old)].map(
    (problem) => [`${problem.field}: ${problem.message}`, problem] as const,
  );
  return [...new Map(problems).values()];
}

/** Returns the problems of an object's metadata. */
export function validateMetadataOf(
  { metadata }: ApiObject,
  old: ApiObject | undefined,
  { isNamespaced, nameProblems }: MetadataRules,
): readonly FieldError[] {
  return [
    // A new rule must not make the name of an existing object invalid.
    ...validateName(metadata, old === undefined ? nameProblems : pathSegmentName),
    ...validateNamespace(metadata, isNamespaced),
    ...validateGeneration(metadata),
    ...validateLabels(metadata),
    ...validateAnnotations(metadata),
    ...validateOwnerReferences(metadata),
    ...validateFinalizers(metadata),
    ...validateManagedFields(metadata),
    ...(old === undefined ? [] : validateChange(metadata, old.metadata)),
  ];
}

function validateChange(metadata: ObjectMeta, old: ObjectMeta): readonly FieldError[] {
  return [
    ...validateNoNewFinalizers(metadata, old),
    ...validateVersions(metadata, old),
    ...immutable('metadata.name', metadata.name, old.name),
    ...immutable('metadata.namespace', metadata.namespace ?? '', old.namespace ?? ''),
    ...immutable('metadata.uid', metadata.uid ?? '', old.uid ?? ''),
    ...(['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const).flatMap((field) =>
      immutable(`metadata.${field}`, metadata[field], old[field]),
    ),
  ];
}

/** Rejects finalizers that have no domain and that the server does not know. Only some resources use this check. */
export function validateStandardFinalizers({ finalizers = [] }: ObjectMeta): readonly FieldError[] {
  return finalizers.flatMap((finalizer, index) =>
    standardFinalizerProblems(finalizer).map((problem) =>
      invalid(`metadata.finalizers[${index}]`, finalizer, problem),
    ),
  );
}

/** Rejects a change of a field. */
export function immutable(field: string, value: unknown, old: unknown): readonly FieldError[] {
  return isDeepStrictEqual(value, old) ? [] : [invalid(field, value, 'field is immutable')];
}

/** Returns the problems of a finalizer that must have a domain, unless the server knows it. */
export function standardFinalizerProblems(finalizer: string): readonly string[] {
  const isKnown = finalizer.includes('/') || ['kubernetes', ORPHAN, FOREGROUND].includes(finalizer);
  return isKnown ? [] : ['name is neither a standard finalizer name nor is it fully qualified'];
}

function validateName({ name = '', generateName = '' }: Partial<ObjectMeta>, rule: NameRule): FieldError[] {
  const problems: FieldError[] = [];
  if (generateName !== '') {
    for (const problem of rule(generateName, true)) {
      problems.push(invalid('metadata.generateName', generateName, problem));
    }
  }
  if (name === '') return [...problems, required('metadata.name', 'name or generateName is required')];
  return [...problems, ...rule(name).map((problem) => invalid('metadata.name', name, problem))];
}

function validateNamespace({ namespace = '' }: ObjectMeta, isNamespaced: boolean): FieldError[] {
  const field = 'metadata.namespace';
  if (!isNamespaced) return namespace === '' ? [] : [forbidden(field, 'not allowed on this type')];
  if (namespace === '') return [required(field)];
  return dnsLabelName(namespace).map((problem) => invalid(field, namespace, problem));
}

function validateGeneration({ generation = 0 }: ObjectMeta): FieldError[] {
  if (generation >= 0) return [];
  return [invalid('metadata.generation', generation, 'must be greater than or equal to 0')];
}

function validateLabels({ labels = {} }: ObjectMeta): FieldError[] {
  const field = 'metadata.labels';
  return Object.entries(labels).flatMap(([key, value]) => [
    ...labelKeyProblems(key).map((problem) => invalid(field, key, problem)),
    ...labelValueProblems(value).map((problem) => invalid(field, value, problem)),
  ]);
}

function validateAnnotations({ annotations = {} }: ObjectMeta): FieldError[] {
  const field = 'metadata.annotations';
  const problems: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    // Unlike the key of a label, the key of an annotation may have capitals in its prefix.
    const keyProblems = labelKeyProblems(key.toLowerCase());
    problems.push(...keyProblems.map((problem) => invalid(field, key, problem)));
  }
  return bytes > MAX_ANNOTATION_BYTES ? [...problems, tooLong(field, MAX_ANNOTATION_BYTES)] : problems;
}

function validateOwnerReferences({ ownerReferences = [] }: ObjectMeta): FieldError[] {
  const field = 'metadata.ownerReferences';
  const problems = ownerReferences.flatMap((reference) => validateOwnerReference(field, reference));
  const controllers = ownerReferences.filter(({ controller }) => controller === true);
  if (controllers.length < 2) return problems;
  return [...problems, invalid(field, ownerReferences, 'only one owner can be the controller')];
}

function validateOwnerReference(field: string, reference: JsonObject): FieldError[] {
  const { apiVersion, kind, name, uid } = reference;
  const problems: FieldError[] = [];
  const version = versionOf(String(apiVersion));
  if (version === '') problems.push(invalid(`${field}.apiVersion`, apiVersion, 'version must not be empty'));
  for (const [key, value] of Object.entries({ kind, name, uid })) {
    if (value === '') problems.push(invalid(`${field}.${key}`, value, 'must not be empty'));
  }
  if (apiVersion === 'v1' && kind === 'Event') {
    problems.push(invalid(field, reference, 'an Event cannot be an owner'));
  }
  return problems;
}

/** Returns the version in `group/version`; '' for an absent version or a malformed text. */
function versionOf(apiVersion: string): string {
  const parts = apiVersion.split('/');
  return parts.length > 2 ? '' : (parts.at(-1) ?? '');
}

function validateFinalizers({ finalizers = [] }: ObjectMeta): FieldError[] {
  const field = 'metadata.finalizers';
  const problems = finalizers.flatMap((finalizer) =>
    labelKeyProblems(finalizer).map((problem) => invalid(field, finalizer, problem)),
  );
  if (!finalizers.includes(ORPHAN) || !finalizers.includes(FOREGROUND)) return problems;
  const problem = `finalizer ${ORPHAN} and ${FOREGROUND} cannot be both set`;
  return [...problems, invalid(field, finalizers, problem)];
}

function validateNoNewFinalizers({ finalizers = [] }: ObjectMeta, old: ObjectMeta): FieldError[] {
  if (old.deletionTimestamp === undefined) return [];
  const before = new Set(old.finalizers);
  const added = finalizers.filter((each) => !before.has(each));
  if (added.length === 0) return [];
  return [
    forbidden(
      'metadata.finalizers',
      `cannot be added to an object that is being deleted: ${added.join(', ')}`,
    ),
  ];
}

function validateVersions(metadata: ObjectMeta, old: ObjectMeta): FieldError[] {
  const { resourceVersion = '', generation = 0 } = metadata;
  const problems: FieldError[] = [];
  if (resourceVersion === '') {
    problems.push(invalid('metadata.resourceVersion', resourceVersion, 'must be specified for an update'));
  }
  if (generation < (old.generation ?? 0)) {
    problems.push(invalid('metadata.generation', generation, 'must not be decremented'));
  }
  return problems;
}

function validateManagedFields({ managedFields = [] }: ObjectMeta): FieldError[] {
  return managedFields.flatMap((entry, index) => validateManager(entry, `metadata.managedFields[${index}]`));
}

function validateManager(entry: ManagedFieldsEntry, field: string): FieldError[] {
  const { operation = '', fieldsType = '', manager = '', subresource = '' } = entry;
  const problems: FieldError[] = [];
  if (operation !== 'Apply' && operation !== 'Update') {
    problems.push(invalid(`${field}.operation`, operation, 'must be `Apply` or `Update`'));
  }
  if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
    problems.push(invalid(`${field}.fieldsType`, fieldsType, 'must be `FieldsV1`'));
  }
  problems.push(...managerProblems(manager, `${field}.manager`));
  if (Buffer.byteLength(subresource) > LONGEST_SUBRESOURCE) {
    problems.push(tooLong(`${field}.subresource`, LONGEST_SUBRESOURCE));
  }
  return problems;
}

/** Returns the problems of a field manager's name. */
export function managerProblems(manager: string, field: string): readonly FieldError[] {
  return [
    ...(Buffer.byteLength(manager) > LONGEST_MANAGER ? [tooLong(field, LONGEST_MANAGER)] : []),
    ...(isPrintable(manager) ? [] : [invalid(field, manager, 'must have printable characters only')]),
  ];
}

/** Whether a text has only printable characters. The only allowed white space is the ASCII space. */
export function isPrintable(text: string): boolean {
  return PRINTABLE.test(text);
}

export const dnsLabelName: NameRule = (name, isPrefix) => {
  const given = isPrefix ? withoutTrailingDash(name) : name;
  return [...lengthProblems(given, LONGEST_LABEL), ...patternProblems(given, label)];
};

/** The rule for names of Leases. */
export const dnsSubdomainName: NameRule = (name, isPrefix) =>
  subdomainProblems(isPrefix ? withoutTrailingDash(name) : name);

export const configMapKeyName: NameRule = (name) => [
  ...lengthProblems(name, LONGEST_SUBDOMAIN),
  ...patternProblems(name, configMapKey),
  ...(name === '.' || name.startsWith('..') ? ["must not be '.' or start with '..'"] : []),
];

/** The minimal rule for every name. It is the only rule for names of Events. */
export const pathSegmentName: NameRule = (name, isPrefix) => {
  if (!isPrefix && (name === '.' || name === '..')) return [`may not be '${name}'`];
  return ['/', '%'].filter((each) => name.includes(each)).map((each) => `may not contain '${each}'`);
};

/** Returns the problems of a label key, which is also a qualified name: `app`, `example.com/app`. */
export function labelKeyProblems(key: string): readonly string[] {
  const [prefix, name, ...more] = key.includes('/') ? key.split('/') : [undefined, key];
  if (more.length > 0) return ['may have one slash, after a DNS subdomain'];
  return [
    ...(prefix === undefined ? [] : subdomainProblems(prefix)).map(
      (problem) => `before the slash: ${problem}`,
    ),
    ...lengthProblems(name ?? '', LONGEST_LABEL),
    ...patternProblems(name ?? '', labelKey),
  ];
}

/** Returns the problems of a label value. */
export function labelValueProblems(value: string): readonly string[] {
  return [...lengthProblems(value, LONGEST_LABEL), ...patternProblems(value, labelValue)];
}

/** Returns the problems of a DNS-1123 subdomain. */
export function subdomainProblems(text: string): readonly string[] {
  return [...lengthProblems(text, LONGEST_SUBDOMAIN), ...patternProblems(text, subdomain)];
}

/** A prefix may end in a dash. kube-apiserver replaces its last two characters by an `a` before the check. */
function withoutTrailingDash(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;
}

function lengthProblems(text: string, most: number): readonly string[] {
  return Buffer.byteLength(text) > most ? [`must be no more than ${most} bytes`] : [];
}

function patternProblems(text: string, { expression, problem }: Pattern): readonly string[] {
  return expression.test(text) ? [] : [problem];
}
