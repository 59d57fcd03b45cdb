import type { SemVer } from 'semver';
import type { LeaseCandidate } from './model.ts';
import { compareVersions, createStrategy } from './strategy.ts';
import { versionOf } from './version.ts';

/**
 * The fewest hand-overs in a rolling update: a free Lease goes to the newest version, whose programs stay, and no leader
 * ever gives way for a version.
 */
export const newestVersion = createStrategy({
  isElectable: (candidate) =>
    versionOf(candidate, 'binary') !== undefined && emulationOf(candidate) !== undefined,
  choosing: [
    ['LowerBinaryVersion', (a, b) => compareVersions(b, a, 'binary')],
    ['LowerEmulationVersion', compareEmulations],
  ],
});

/** The API server asks for an emulationVersion under its own strategy only: whoever names none emulates its binaryVersion. */
function emulationOf(candidate: LeaseCandidate): SemVer | undefined {
  return versionOf(candidate, candidate.emulationVersion === undefined ? 'binary' : 'emulation');
}

function compareEmulations(a: LeaseCandidate, b: LeaseCandidate): number {
  if (a.emulationVersion === b.emulationVersion) return 0;
  const [left, right] = [emulationOf(a), emulationOf(b)];
  if (!left || !right) throw new TypeError('only electable candidates can be compared');
  return right.compare(left);
}
