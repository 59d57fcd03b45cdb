import type { ElectorSpec } from '../../control-plane/electors.ts';
import type { ElectorStage } from './contender.ts';
import type { SimProgram } from './sim-programs.ts';

/** The minor version that the best candidate emulates, where nothing else is said. */
export const BEST = 30;

/** Names for Leases; each begins with `scenario` and has no dot in it. */
export function leaseNames(scenario: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${scenario}-${count}-${index}`);
}

/** The name of a Lease's candidate, by the minor version that it emulates: the lower, the better. */
export function candidateName(lease: string, minor: number): string {
  return `${lease}.${minor}`;
}

/** The Lease of the candidate that has this name. */
export function leaseOf(name: string): string {
  return name.split('.')[0] ?? name;
}

/**
 * Always of another version: of equals created in one second the built-in controller prefers now one, now another. They
 * come back after the loss of their Lease, and let it expire rather than release it.
 */
export function electorOf(
  { namespace }: Pick<ElectorStage, 'namespace'>,
  lease: string,
  minor: number,
  spec: Partial<ElectorSpec> = {},
): ElectorSpec {
  return {
    id: candidateName(lease, minor),
    namespace,
    lease,
    binaryVersion: '1.40.0',
    emulationVersion: `1.${minor}.0`,
    restart: true,
    releaseOnCancel: false,
    ...spec,
  };
}

/** The simulated programs of a Lease that the best of them holds. */
export function castOf(lease: string, count: number): readonly SimProgram[] {
  return Array.from({ length: count }, (_, index) => ({
    name: candidateName(lease, BEST + index),
    lease,
    emulationVersion: `1.${BEST + index}.0`,
    isHolder: index === 0,
  }));
}
