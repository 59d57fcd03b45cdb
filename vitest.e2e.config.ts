import { defineConfig } from 'vitest/config';

// Every file starts servers of its own and measures time: two at once on a small machine would measure each other.
const fileParallelism = false;

const timeouts = {
  testTimeout: 120_000,
  // The first run builds Kubernetes from source.
  hookTimeout: 1_800_000,
  teardownTimeout: 60_000,
};

/** Need root, and packages of Debian's, which `.ci/install-packages` installs, or npm's: `npm run test:e2e -- --project operations`. */
const operations = [
  'alert-stories',
  'completion',
  'examples',
  'image',
  'lead-calls',
  'monitoring',
  'operations',
  'package',
  'process-one',
  'release',
  'runbooks',
  'status-page',
  'status-page-access',
].map((name) => `test/e2e/${name}.e2e.test.ts`);

/** What is installed with the chart, and moved by hand. */
const chart = [
  'chart',
  'chart-crd',
  'crash-evidence',
  'crash-evidence-plain',
  'leader-label',
  'lock-namespace',
  'moving',
  'participants',
  'rbac',
  'restored-etcd',
].map((name) => `test/e2e/${name}.e2e.test.ts`);

/** Long runs, of which these are the short versions. */
const endurance = [
  'test/chaos/chaos.e2e.test.ts',
  'test/e2e/figures.e2e.test.ts',
  'test/histories/histories.e2e.test.ts',
  'test/soak/soak.e2e.test.ts',
];

export default defineConfig({
  test: {
    fileParallelism,
    projects: [
      {
        test: {
          name: 'kubernetes',
          include: ['test/**/*.e2e.test.ts'],
          exclude: [...operations, ...chart, ...endurance],
          fileParallelism,
          ...timeouts,
        },
      },
      { test: { name: 'endurance', include: endurance, fileParallelism, ...timeouts } },
      { test: { name: 'chart', include: chart, fileParallelism, ...timeouts } },
      { test: { name: 'operations', include: operations, fileParallelism, ...timeouts } },
    ],
  },
});
