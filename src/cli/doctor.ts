import { gatherEvidence } from '../inspection/evidence.ts';
import { diagnose, type NamedFinding } from '../inspection/findings.ts';
import { counted } from '../inspection/wording.ts';
import type { DoctorSettings } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { withCluster } from './cluster-connection.ts';
import { exitCodeOf } from './exit-code.ts';
import { countedProblems, findingLines, type Layout, print } from './output.ts';

/** Examines a cluster and prints the findings. Resolves to the exit code of the most severe finding. */
export function showDiagnosis(settings: DoctorSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    const evidence = await gatherEvidence({ ...settings, ...connection, settings });
    const findings = diagnose(evidence);
    const examined = { server: connection.client.server, user: evidence.user, findings };
    print(examined, settings.output, host, (layout) => findingsLines(findings, layout));
    return exitCodeOf(findings);
  });
}

/** Formats the findings with their meaning and advice, and then the number of problems and of passed checks. */
function findingsLines(findings: readonly NamedFinding[], layout: Layout): readonly string[] {
  const lines = findings.flatMap((finding) =>
    findingLines({ ...finding, name: finding.check, what: [finding.what] }, layout),
  );
  const passed = findings.filter(({ severity }) => severity === 'ok').length;
  return [...lines, '', `${countedProblems(findings)}, ${counted(passed, 'check')} passed.`];
}
