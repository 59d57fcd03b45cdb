import type { ElectorSpec } from '../../control-plane/electors.ts';
import type { ElectorStage } from './contender.ts';
import type { SimProgram } from './sim-programs.ts';

/** The default minor version that the best candidate emulates. */
export const BEST = 30;

/** Names of Leases; each begins with `scenario` and has no dot in it. */
export function leaseNames(scenario: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${scenario}-${count}-${index}`);
}

/** The name of a Lease's candidate, by the minor version that it emulates: the lower, the better. */
export function candidateName(lease: string, minor: number): string {
  return `${lease}.${minor}`;
}

/** The Lease of the candidate with this name. */
export function leaseOf(name: string): string {
  return name.split('.')[0] ?? name;
}

/**
 * Each has a different version: of equals that were created in the same second, the built-in controller prefers a
 * random one. They come back after the loss of their Lease, and let it expire instead of releasing it.
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

/** The simulated programs of a Lease whose best one holds it. */
export function castOf(lease: string, count: number): readonly SimProgram[] {
  return Array.from({ length: count }, (_, index) => ({
    name: candidateName(lease, BEST + index),
    lease,
    emulationVersion: `1.${BEST + index}.0`,
    isHolder: index === 0,
  }));
}
