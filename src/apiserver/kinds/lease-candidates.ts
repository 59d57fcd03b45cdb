import { parse, SemVer } from 'semver';
import type { LeaseCandidateVersion } from '../../coordination/candidate-sources.ts';
import type { JsonObject } from '../../support/json.ts';
import { type FieldError, invalid, required } from '../errors/field-error.ts';
import { type ApiObject, metadataField, text, typeFields } from '../schema/api-object.ts';
import { type FieldSchema, field, type StructSchema, struct } from '../schema/schema.ts';
import {
  ageColumn,
  asVersion,
  type ColumnDefinition,
  column,
  type ResourceDefinition,
  selectableMetadata,
  settled,
  structIn,
  textIn,
  textsIn,
  type VersionDefinition,
} from './definition.ts';
import { OLDEST_EMULATION_VERSION, validateStrategy } from './leases.ts';
import { configMapKeyName, immutable } from './validation.ts';

const NEEDED_BY_OLDEST = `must be specified when \`strategy\` is '${OLDEST_EMULATION_VERSION}'`;

/** Used in comparisons for a missing or malformed version. */
const NO_VERSION = new SemVer('0.0.0');

const GROUP_MODEL = 'io.k8s.api.coordination';
const isRequired = { isRequired: true } as const;

const commonFields = {
  leaseName: field(text, 'fill', 'The Lease of the candidate. It cannot be changed.', isRequired),
  pingTime: field({ kind: 'microTime' }, 'keep', 'When the candidate was last pinged.'),
  renewTime: field({ kind: 'microTime' }, 'keep', 'When the candidate last wrote that it is alive.'),
};
const binaryVersion = field(text, 'omit', 'The semantic version of the program.');
const emulationVersion = field(text, 'omit', 'The semantic version that the program emulates.');
const strategy = field(text, 'omit', 'How the leader is elected.', isRequired);
const preferredStrategies = field(
  { kind: 'list', items: text, listType: 'atomic' },
  'omit',
  'How the leader is elected, the best way first. The lists of all candidates are merged into one order.',
  isRequired,
);

/** The fields of v1beta1 and v1alpha2. */
const oneStrategy = {
  ...commonFields,
  binaryVersion: { ...binaryVersion, zero: 'fill', isRequired: true },
  emulationVersion,
  strategy,
} as const;
const v1beta1Schema = candidateSchema('v1beta1', oneStrategy);
const v1alpha2Schema = candidateSchema('v1alpha2', oneStrategy);
const v1alpha1Schema = candidateSchema('v1alpha1', {
  ...commonFields,
  binaryVersion,
  emulationVersion,
  preferredStrategies,
});

function candidateSchema(version: string, fields: Readonly<Record<string, FieldSchema>>): StructSchema {
  const model = `${GROUP_MODEL}.${version}`;
  const spec = struct(`${model}.LeaseCandidateSpec`, 'The Lease and the versions of a candidate.', fields);
  return struct(`${model}.LeaseCandidate`, 'A LeaseCandidate may be elected to hold a Lease.', {
    ...typeFields,
    metadata: metadataField,
    spec: field(spec, 'fill', 'Its Lease and versions.', version === 'v1alpha1' ? {} : isRequired),
  });
}

const GROUP = 'coordination.k8s.io';
const HUB = `${GROUP}/v1beta1`;

const candidateNames = {
  resource: 'leasecandidates',
  singular: 'leasecandidate',
  kind: 'LeaseCandidate',
} as const;

const columns: readonly ColumnDefinition[] = [
  specColumn('LeaseName', 'leaseName', 'The Lease that the candidate stands for.'),
  specColumn('BinaryVersion', 'binaryVersion', 'The version of the program.'),
  specColumn('EmulationVersion', 'emulationVersion', 'The version that the program behaves like.'),
  ageColumn,
];

/**
 * Returns LeaseCandidates in the served versions, preferred version first. They are stored as v1beta1. A candidate that
 * was written as v1alpha1 also keeps spec.preferredStrategies, and its spec.strategy is the first of them.
 */
export function leaseCandidates(versions: readonly LeaseCandidateVersion[]): ResourceDefinition {
  return {
    group: GROUP,
    ...candidateNames,
    isNamespaced: true,
    nameProblems: configMapKeyName,
    shortNames: [],
    storage: candidateNames.resource,
    createsOnUpdate: true,
    updatesUnconditionally: false,
    prepareForCreate: (candidate) => candidate,
    prepareForUpdate: (candidate) => candidate,
    validate: validateCandidateSpec,
    versions: versions.map((version) => definitions[version]),
  };
}

const definitions: Readonly<Record<LeaseCandidateVersion, VersionDefinition>> = {
  v1beta1: {
    ...withOneStrategy('v1beta1', v1beta1Schema),
    deprecation: `${GROUP}/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+`,
  },
  v1alpha2: {
    ...withOneStrategy('v1alpha2', v1alpha2Schema),
    deprecation: `${GROUP}/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+`,
  },
  v1alpha1: {
    version: 'v1alpha1',
    schema: v1alpha1Schema,
    toHub: fromListed,
    fromHub: toListed,
    selectableFields: selectableMetadata,
    columns,
  },
};

/** v1beta1 and v1alpha2 differ only in their names. */
function withOneStrategy(version: 'v1beta1' | 'v1alpha2', schema: StructSchema): VersionDefinition {
  return {
    version,
    schema,
    toHub: (candidate, previous) => keepList(settled(schema, candidate, HUB), previous),
    fromHub: (hub) => asVersion(withoutList(hub), `${GROUP}/${version}`),
    selectableFields: selectableMetadata,
    columns,
  };
}

/** Keeps preferredStrategies if a client that knows only `strategy` does not change `strategy`. */
function keepList(candidate: ApiObject, previous: ApiObject | undefined): ApiObject {
  if (previous === undefined) return candidate;
  const list = textsIn(structIn(previous, 'spec'), 'preferredStrategies');
  const spec = structIn(candidate, 'spec');
  if (list[0] === undefined || list[0] !== spec['strategy']) return candidate;
  return { ...candidate, spec: { ...spec, preferredStrategies: list } };
}

function withoutList(hub: ApiObject): ApiObject {
  const { preferredStrategies, ...spec } = structIn(hub, 'spec');
  return preferredStrategies === undefined ? hub : { ...hub, spec };
}

function fromListed(candidate: ApiObject): ApiObject {
  const listed = settled(v1alpha1Schema, candidate, HUB);
  const { preferredStrategies: _, ...spec } = structIn(listed, 'spec');
  const list = textsIn(structIn(listed, 'spec'), 'preferredStrategies');
  const hub = { ...listed, spec: { ...spec, ...(list[0] !== undefined && { strategy: list[0] }) } };
  const whole = settled(v1beta1Schema, hub, HUB);
  // Also keeps an empty list, because it shows that the rules of v1alpha1 apply.
  return { ...whole, spec: { ...structIn(whole, 'spec'), preferredStrategies: list } };
}

function toListed(hub: ApiObject): ApiObject {
  const {
    strategy,
    preferredStrategies = strategy === undefined ? [] : [strategy],
    ...spec
  } = structIn(hub, 'spec');
  return settled(v1alpha1Schema, { ...hub, spec: { ...spec, preferredStrategies } }, `${GROUP}/v1alpha1`);
}

function specColumn(name: string, field: string, description: string): ColumnDefinition {
  return column(name, description, (candidate) => textIn(structIn(candidate, 'spec'), field));
}

/** Returns the problems of a spec in hub form, by the rules of v1alpha1 for a candidate of that version. */
function validateCandidateSpec(candidate: ApiObject, old?: ApiObject): readonly FieldError[] {
  const spec = structIn(candidate, 'spec');
  const leaseName = textIn(spec, 'leaseName');
  return [
    ...(leaseName === '' ? [required('spec.leaseName')] : []),
    ...validateVersions(spec),
    ...(spec['preferredStrategies'] === undefined ? validateOnlyStrategy(spec) : validateStrategies(spec)),
    ...(old === undefined
      ? []
      : immutable('spec.leaseName', leaseName, textIn(structIn(old, 'spec'), 'leaseName'))),
  ];
}

function validateVersions(spec: JsonObject): readonly FieldError[] {
  const binary = textIn(spec, 'binaryVersion');
  const emulation = textIn(spec, 'emulationVersion');
  const isListed = spec['preferredStrategies'] !== undefined;
  const problems: FieldError[] = [];
  const malformed = 'must be a valid semantic version';
  if (emulation !== '' && readVersion(emulation) === undefined) {
    problems.push(invalid('spec.emulationVersion', emulation, malformed));
  }
  if (binary === '' && !isListed) problems.push(required('spec.binaryVersion'));
  if (binary !== '' && readVersion(binary) === undefined) {
    problems.push(invalid('spec.binaryVersion', binary, malformed));
  }
  if (binary !== '' && emulation !== '' && versionOf(binary).compare(versionOf(emulation)) < 0) {
    const problem = 'must be greater than or equal to `emulationVersion`';
    problems.push(invalid('spec.binaryVersion', binary, problem));
  }
  return problems;
}

function validateOnlyStrategy(spec: JsonObject): readonly FieldError[] {
  const strategy = textIn(spec, 'strategy');
  if (strategy === '') return [required('spec.strategy')];
  const problems = validateStrategy(strategy, 'spec.strategy');
  if (strategy !== OLDEST_EMULATION_VERSION) return problems;
  return [...neededVersions(spec, ['emulationVersion']), ...problems];
}

function validateStrategies(spec: JsonObject): readonly FieldError[] {
  return textsIn(spec, 'preferredStrategies').flatMap((strategy, index) => [
    ...(strategy === OLDEST_EMULATION_VERSION
      ? neededVersions(spec, ['binaryVersion', 'emulationVersion'])
      : []),
    ...validateStrategy(strategy, `spec.preferredStrategies[${index}]`),
  ]);
}

/** OldestEmulationVersion compares versions, so these versions are required. */
function neededVersions(spec: JsonObject, fields: readonly string[]): readonly FieldError[] {
  return fields
    .filter((field) => versionOf(textIn(spec, field)).compare(NO_VERSION) === 0)
    .map((field) => required(`spec.${field}`, NEEDED_BY_OLDEST));
}

function versionOf(text: string): SemVer {
  return readVersion(text) ?? NO_VERSION;
}

/** Parses a strict semantic version. Rejects `v1.2.3`, which node-semver accepts. */
function readVersion(text: string): SemVer | undefined {
  return /^\d\S*$/.test(text) ? (parse(text) ?? undefined) : undefined;
}
