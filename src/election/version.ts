import { parse, type SemVer } from 'semver';
import type { LeaseCandidate } from './model.ts';

/** The versions of a candidate that can be compared. */
export interface CandidateVersions {
  readonly binary: SemVer;
  readonly emulation: SemVer;
}

/** Reads a strict semantic version; undefined when missing or unparseable. `v1.2.3`, which node-semver lets pass, is not one. */
export function parseVersion(text: string | undefined): SemVer | undefined {
  if (text === undefined || !/^\d\S*$/.test(text)) return undefined;
  return parse(text) ?? undefined;
}

/** Both versions of a candidate; undefined when one is missing or unparseable: it is not electable (rule 5). */
export function parseVersions(candidate: LeaseCandidate): CandidateVersions | undefined {
  const binary = parseVersion(candidate.binaryVersion);
  const emulation = parseVersion(candidate.emulationVersion);
  return binary && emulation && { binary, emulation };
}
