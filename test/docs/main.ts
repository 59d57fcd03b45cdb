// Writes the generated parts of docs/, the chart and deploy/: `npm run docs`. `npm run docs -- NAME` writes one of
// them. The pictures, the recording and the page about mutation need a name, because they need a browser, a run of
// the demo, and the results of `npm run mutation`.
import { runNamed } from '../support/named-programs.ts';

runNamed(
  {
    architecture: { file: new URL('../../lint/architecture-doc.ts', import.meta.url) },
    differences: { file: new URL('../conformance/known-differences-doc.ts', import.meta.url) },
    metrics: { file: new URL('../telemetry/metrics-doc.ts', import.meta.url) },
    monitoring: { file: new URL('../../monitoring/generated-files.ts', import.meta.url) },
    mutation: { file: new URL('../mutation/survivors-doc.ts', import.meta.url) },
    recording: { file: new URL('recording.ts', import.meta.url) },
    reliability: { file: new URL('../simulation/reliability-doc.ts', import.meta.url) },
    screenshots: { file: new URL('../e2e/status-page/screenshots.ts', import.meta.url) },
  },
  ['architecture', 'differences', 'metrics', 'monitoring', 'reliability'],
);
