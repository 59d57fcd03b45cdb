// Writes the generated parts of docs/, the chart and deploy/. The pictures, the recording and the page about mutation
// need a name, because they need a browser, a run of the demo, and the results of `npm run mutation`.
import { type NamedProgram, runNamed } from '../support/named-programs.ts';

const writes = (does: string, file: string): NamedProgram => ({
  does: `writes ${does}`,
  file: new URL(`../../${file}`, import.meta.url),
});

runNamed(
  'npm run docs',
  {
    architecture: writes('the folders in docs/contributing/architecture.md', 'lint/architecture-doc.ts'),
    differences: writes(
      'the known differences in docs/reference/embedded-server.md',
      'test/conformance/known-differences-doc.ts',
    ),
    metrics: writes('docs/reference/metrics.md', 'test/telemetry/metrics-doc.ts'),
    monitoring: writes('the alerts and the dashboard, and their documents', 'monitoring/generated-files.ts'),
    mutation: writes('docs/contributing/mutation-survivors.md', 'test/mutation/survivors-doc.ts'),
    recording: writes('docs/images/demo.svg', 'test/docs/recording.ts'),
    reliability: writes('the faults in docs/contributing/attacks.md', 'test/simulation/reliability-doc.ts'),
    screenshots: writes('the pictures of docs/how-to/status-page.md', 'test/e2e/status-page/screenshots.ts'),
  },
  ['architecture', 'differences', 'metrics', 'monitoring', 'reliability'],
);
