import { parse, type SemVer } from 'semver';
import type { LeaseCandidate } from './model.ts';

/** The versions of a candidate that can be compared. */
export interface CandidateVersions {
  readonly binary: SemVer;
  readonly emulation: SemVer;
}

/** A cluster has few versions, and reading them again and again is most of what a decision costs. */
const known = new Map<string, SemVer | undefined>();
const MOST_KNOWN = 1000;
const LONGEST_KNOWN = 100;

/** Reads a strict semantic version; undefined when missing or unparseable. `v1.2.3`, which node-semver lets pass, is not one. */
export function parseVersion(text: string | undefined): SemVer | undefined {
  if (text === undefined) return undefined;
  if (known.has(text)) return known.get(text);
  const version = /^\d\S*$/.test(text) ? (parse(text) ?? undefined) : undefined;
  if (known.size >= MOST_KNOWN) known.clear();
  if (text.length <= LONGEST_KNOWN) known.set(text, version);
  return version;
}

/** What was read of candidates whose versions are not common, for as long as they exist: each of a crowd may have its own. */
const own = new WeakMap<LeaseCandidate, Partial<CandidateVersions>>();

/** A version of a candidate; undefined when it is missing or unparseable: it is not electable then (rule 5). */
export function versionOf(candidate: LeaseCandidate, which: keyof CandidateVersions): SemVer | undefined {
  const text = which === 'binary' ? candidate.binaryVersion : candidate.emulationVersion;
  return known.get(text ?? '') ?? ownVersions(candidate)[which];
}

function ownVersions(candidate: LeaseCandidate): Partial<CandidateVersions> {
  const found = own.get(candidate);
  if (found) return found;
  const binary = parseVersion(candidate.binaryVersion);
  const emulation = parseVersion(candidate.emulationVersion);
  const versions = { ...(binary && { binary }), ...(emulation && { emulation }) };
  own.set(candidate, versions);
  return versions;
}
