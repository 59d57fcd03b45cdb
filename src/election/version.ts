import { parse, type SemVer } from 'semver';
import type { LeaseCandidate } from './model.ts';

/** The versions of a candidate that can be compared. */
export interface CandidateVersions {
  readonly binary: SemVer;
  readonly emulation: SemVer;
}

/**
 * Reading versions again and again is most of what a decision costs. A cluster has few; but somebody may have a crowd of
 * candidates with one each. When there are too many, those that nobody has asked for since the last time are forgotten.
 */
let known = new Map<string, SemVer | undefined>();
let former = new Map<string, SemVer | undefined>();
const MOST_KNOWN = 100_000;
const LONGEST_KNOWN = 100;

/** Reads a strict semantic version; undefined when missing or unparseable. `v1.2.3`, which node-semver lets pass, is not one. */
export function parseVersion(text: string | undefined): SemVer | undefined {
  if (text === undefined) return undefined;
  const found = known.get(text);
  if (found !== undefined || known.has(text)) return found;
  const version = former.has(text) ? former.get(text) : read(text);
  if (text.length > LONGEST_KNOWN) return version;
  if (known.size >= MOST_KNOWN) {
    former = known;
    known = new Map();
  }
  known.set(text, version);
  return version;
}

function read(text: string): SemVer | undefined {
  return /^\d\S*$/.test(text) ? (parse(text) ?? undefined) : undefined;
}

/** Both versions of a candidate; undefined when one is missing or unparseable: it is not electable (rule 5). */
export function parseVersions(candidate: LeaseCandidate): CandidateVersions | undefined {
  const binary = parseVersion(candidate.binaryVersion);
  const emulation = parseVersion(candidate.emulationVersion);
  return binary && emulation && { binary, emulation };
}
