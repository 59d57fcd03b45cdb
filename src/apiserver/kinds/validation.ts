import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../support/json.ts';
import { type FieldError, forbidden, invalid, required, tooLong } from '../errors/field-error.ts';
import type { ApiObject, ManagedFieldsEntry, ObjectMeta } from '../schema/api-object.ts';
import { goJson, goQuote, isPrintable } from '../schema/go-text.ts';
import type { ResourceDefinition } from './definition.ts';
import {
  dnsLabelName,
  labelKeyProblems,
  labelValueProblems,
  type NameRule,
  pathSegmentName,
} from './names.ts';

const MOST_ANNOTATION_BYTES = 256 * 1024;
const LONGEST_MANAGER = 128;
const LONGEST_SUBRESOURCE = 256;
const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

/** What differs from resource to resource in metadata. */
export type MetadataRules = Pick<ResourceDefinition, 'isNamespaced' | 'nameProblems'>;

/** Everything that is wrong with an object in hub form, each thing once. `old` is given for an update. */
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

/** What is wrong with the metadata of an object. */
export function validateMetadataOf(
  { metadata }: ApiObject,
  old: ApiObject | undefined,
  { isNamespaced, nameProblems }: MetadataRules,
): readonly FieldError[] {
  return [
    // A name that an object has got stays valid.
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
    ...immutable('metadata.uid', metadata.uid ?? '', old.uid ?? '', goJson),
    ...(['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const).flatMap((field) =>
      immutable(`metadata.${field}`, metadata[field], old[field]),
    ),
  ];
}

/** Finalizers without a domain that the server does not know, which some resources refuse. */
export function validateStandardFinalizers({ finalizers = [] }: ObjectMeta): readonly FieldError[] {
  return finalizers.flatMap((finalizer, index) =>
    standardFinalizerProblems(finalizer).map((problem) =>
      invalid(`metadata.finalizers[${index}]`, finalizer, problem),
    ),
  );
}

/** A field that keeps its value. `show` says how the new one is written. */
export function immutable(
  field: string,
  value: unknown,
  old: unknown,
  show?: (value: unknown) => string,
): readonly FieldError[] {
  return isDeepStrictEqual(value, old) ? [] : [invalid(field, value, 'field is immutable', show)];
}

/** What is wrong with names of finalizers where those without a domain have to be ones that the server knows. */
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
    // Unlike the key of a label, that of an annotation may have capitals in its prefix.
    const keyProblems = labelKeyProblems(key.toLowerCase());
    problems.push(...keyProblems.map((problem) => invalid(field, key, problem)));
  }
  return bytes > MOST_ANNOTATION_BYTES ? [...problems, tooLong(field, MOST_ANNOTATION_BYTES)] : problems;
}

function validateOwnerReferences({ ownerReferences = [] }: ObjectMeta): FieldError[] {
  const field = 'metadata.ownerReferences';
  const problems: FieldError[] = [];
  let firstController: string | undefined;
  for (const reference of ownerReferences) {
    problems.push(...validateOwnerReference(field, reference));
    if (reference['controller'] !== true) continue;
    const controller = `${reference['kind']}/${reference['name']}`;
    if (firstController === undefined) {
      firstController = controller;
      continue;
    }
    const problem = `Only one reference can have Controller set to true. Found "true" in references for ${firstController} and ${controller}`;
    problems.push(invalid(field, ownerReferences, problem));
  }
  return problems;
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
    problems.push(invalid(field, reference, '/v1, Kind=Event is disallowed from being an owner'));
  }
  return problems;
}

/** The version in `group/version`; '' where there is none or the whole is malformed. */
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
  const added = [...new Set(finalizers)].filter((each) => !before.has(each)).sort();
  if (added.length === 0) return [];
  const list = added.map(goQuote).join(', ');
  const problem = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  return [forbidden('metadata.finalizers', problem)];
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
    problems.push(invalid(`${field}.operation`, operation, 'must be `Apply` or `Update`', goJson));
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

/** What is wrong with the name of a field manager. */
export function managerProblems(manager: string, field: string): readonly FieldError[] {
  const problems: FieldError[] = [];
  if (Buffer.byteLength(manager) > LONGEST_MANAGER) problems.push(tooLong(field, LONGEST_MANAGER));
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
      problems.push(invalid(field, manager, `invalid character U+${code} (at position ${position})`));
    }
    position += Buffer.byteLength(character);
  }
  return problems;
}
