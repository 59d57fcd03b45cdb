import { parse, SemVer } from 'semver';
import type { JsonObject } from '../../support/json.ts';
import { type FieldError, invalid, required } from '../errors/field-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { OLDEST_EMULATION_VERSION, validateStrategy } from './leases.ts';
import { structIn, textIn, textsIn } from './object-fields.ts';
import { immutable } from './validation.ts';

const NEEDED_BY_OLDEST = `must be specified when \`strategy\` is '${OLDEST_EMULATION_VERSION}'`;

/** What a version that is missing or malformed counts as. */
const NO_VERSION = new SemVer('0.0.0');

/** What is wrong with the spec of a LeaseCandidate in hub form: by the rules of v1alpha1 if it was written as that. */
export function validateCandidateSpec(candidate: ApiObject, old?: ApiObject): readonly FieldError[] {
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

/** OldestEmulationVersion compares versions, so that there must be some. */
function neededVersions(spec: JsonObject, fields: readonly string[]): readonly FieldError[] {
  return fields
    .filter((field) => versionOf(textIn(spec, field)).compare(NO_VERSION) === 0)
    .map((field) => required(`spec.${field}`, NEEDED_BY_OLDEST));
}

function versionOf(text: string): SemVer {
  return readVersion(text) ?? NO_VERSION;
}

/** A strict semantic version; `v1.2.3`, which node-semver lets pass, is none. */
function readVersion(text: string): SemVer | undefined {
  return /^\d\S*$/.test(text) ? (parse(text) ?? undefined) : undefined;
}
