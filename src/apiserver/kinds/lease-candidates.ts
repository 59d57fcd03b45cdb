import type { LeaseCandidateVersion } from '../../coordination/lease-candidate-version.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StructSchema } from '../schema/schema.ts';
import {
  ageColumn,
  type ColumnDefinition,
  column,
  type ResourceDefinition,
  type VersionDefinition,
} from './definition.ts';
import { v1alpha1Schema, v1alpha2Schema, v1beta1Schema } from './lease-candidate-schemas.ts';
import { validateCandidateSpec } from './lease-candidate-validation.ts';
import { configMapKeyName } from './names.ts';
import { asVersion, selectableMetadata, settled, structIn, textIn, textsIn } from './object-fields.ts';

const GROUP = 'coordination.k8s.io';
const HUB = `${GROUP}/v1beta1`;

/** What LeaseCandidates are called, in whatever group. */
export const candidateNames = {
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
 * LeaseCandidates, in the versions that are served, the preferred one first. They are stored as v1beta1; one that was
 * written as v1alpha1 has its spec.preferredStrategies beside spec.strategy, which is the first of them.
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

/** v1beta1 and v1alpha2, which differ in nothing but their name. */
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

/** A client that knows one strategy only does not lose the others, unless it changes the first. */
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
  // Even an empty list is kept: it tells that the rules of v1alpha1 apply.
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
