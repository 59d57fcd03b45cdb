import { compareVersions, createStrategy } from './strategy.ts';
import { versionOf } from './version.ts';

/** Kubernetes' own: in an upgrade the old version leads until it is gone, or until it can no longer be rolled back to. */
export const oldestEmulationVersion = createStrategy({
  isElectable: (candidate) => {
    const isReadable = versionOf(candidate, 'binary') !== undefined;
    return isReadable && versionOf(candidate, 'emulation') !== undefined;
  },
  preempting: [
    ['HigherEmulationVersion', (a, b) => compareVersions(a, b, 'emulation')],
    ['HigherBinaryVersion', (a, b) => compareVersions(a, b, 'binary')],
  ],
});
