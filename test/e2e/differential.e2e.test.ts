import { test } from 'vitest';
import { compareServers } from '../conformance/differential.ts';
import { embeddedLike, startEmbeddedTarget } from '../conformance/embedded-target.ts';
import { realApi, startRealTarget } from '../conformance/real-target.ts';
import { kubernetesVersions } from '../control-plane/kubernetes-versions.ts';

// For longer searches with other seeds: CONFORMANCE_RUNS=5000 CONFORMANCE_SEED=$RANDOM
const seed = Number(process.env['CONFORMANCE_SEED'] ?? 4355);
const runs = Number(process.env['CONFORMANCE_RUNS'] ?? 150);

/**
 * A sequence takes a tenth of a second, the search for a shorter one tries hundreds, and 1.31 waits before it lists.
 */
const timeout = 120_000 + runs * 1_000;

for (const version of kubernetesVersions) {
  test(
    `the embedded server answers random sequences as kube-apiserver ${version} does`,
    async ({ onTestFinished }) => {
      const real = await startRealTarget(version);
      onTestFinished(() => real.stop());
      const embedded = await startEmbeddedTarget(embeddedLike(realApi(version)));
      onTestFinished(() => embedded.stop());
      await compareServers(real.target, embedded.target, { seed, runs });
    },
    timeout,
  );
}
