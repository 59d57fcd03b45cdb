import { expect, test } from 'vitest';
import { metricsPage } from './metrics-doc.ts';

test('docs/reference/metrics.md lists the metrics and reasons of the code (npm run docs updates it)', async () => {
  const { written, wanted } = await metricsPage();
  expect(written).toBe(wanted);
  expect(written).toContain('| `cle_elections_total` | counter |');
  expect(written).toContain('| `LeaderOptimal` | The best candidate leads. |');
});
