import { expect, test } from 'vitest';
import { metricsPage } from './metrics-doc.ts';

test('docs/reference/metrics.md lists metrics and reasons as the code has them (npm run docs brings it up to date)', async () => {
  const { written, wanted } = await metricsPage();
  expect(written).toBe(wanted);
  expect(written).toContain('| `cle_elections_total` | counter |');
  expect(written).toContain('| `LeaderOptimal` | The best candidate leads. |');
});
