import { GROUP } from './group.ts';
import { newestVersion } from './newest-version.ts';
import { oldestEmulationVersion } from './oldest-emulation-version.ts';
import type { Strategy } from './strategy.ts';

/** The strategies that this coordinator carries out, by name; every other is somebody else's to carry out (rule 4). */
export const strategies: ReadonlyMap<string, Strategy> = new Map([
  ['OldestEmulationVersion', oldestEmulationVersion],
  [`${GROUP}/NewestVersion`, newestVersion],
]);
