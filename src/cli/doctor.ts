import { gatherEvidence } from '../inspection/evidence.ts';
import type { Severity } from '../inspection/findings.ts';
import { diagnose, type NamedFinding } from '../inspection/findings.ts';
import { counted } from '../inspection/wording.ts';
import type { DoctorSettings } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { withCluster } from './cluster-connection.ts';
import { exitCodeOf } from './exit-code.ts';
import { findingLines, type Layout, layoutFor, print } from './output.ts';

/** Examines a cluster and prints the findings. Resolves to the exit code of the most severe finding. */
export function showDiagnosis(settings: DoctorSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    const evidence = await gatherEvidence({ ...connection, settings });
    const findings = diagnose(evidence);
    const examined = { server: connection.client.server, user: evidence.user, findings };
    print(examined, settings.output, host, () => findingsText(findings, layoutFor(host)));
    return exitCodeOf(findings);
  });
}

/** Formats the findings with their meaning and advice. Their counts follow at the end. */
function findingsText(findings: readonly NamedFinding[], layout: Layout): string {
  const lines = findings.flatMap(({ check, severity, what, meaning, advice, runbook }) =>
    findingLines(
      {
        severity,
        name: check,
        sentences: [what, meaning],
        advice: [advice, runbook === undefined ? undefined : `Runbook: ${runbook}`],
      },
      layout,
    ),
  );
  const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  return `${[...lines, '', `${counted(count('error'), 'error')}, ${counted(count('warning'), 'warning')}, ${counted(count('ok'), 'check')} passed.`].join('\n')}\n`;
}
