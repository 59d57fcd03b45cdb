import { diagnose } from '../inspection/diagnosis.ts';
import { gatherEvidence } from '../inspection/evidence.ts';
import type { Finding, Severity } from '../inspection/findings.ts';
import { counted } from '../inspection/wording.ts';
import type { DoctorSettings } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { withCluster } from './cluster-connection.ts';
import { exitCode } from './exit-code.ts';
import { type Layout, layoutFor, print, type Style, wrapped } from './output.ts';

const STYLES: Readonly<Record<Severity, Style>> = { ok: 'good', warning: 'warning', error: 'bad' };

/** Examines a cluster and prints the findings. Resolves to the exit code of the most severe finding. */
export function showDiagnosis(settings: DoctorSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async ({ client, clock, namespace }) => {
    const evidence = await gatherEvidence({
      client,
      clock,
      settings,
      namespace,
      lockNamespace: settings.lockNamespace,
      leaderLabel: settings.leaderLabel,
      isCrashEvidenceUsed: settings.isCrashEvidenceUsed,
    });
    const findings = diagnose(evidence);
    const examined = { server: client.server, user: evidence.user, findings };
    print(examined, settings.output, host, () => findingsText(findings, layoutFor(host)));
    return exitCodeOf(findings);
  });
}

function exitCodeOf(findings: readonly Finding[]): number {
  if (findings.some(({ severity }) => severity === 'error')) return exitCode.errorsFound;
  return findings.some(({ severity }) => severity === 'warning') ? exitCode.warningsFound : exitCode.ok;
}

/** Formats the findings with their meaning and advice. Their counts follow at the end. */
function findingsText(findings: readonly Finding[], { paint, columns }: Layout): string {
  const indent = ' '.repeat(9);
  const lines = findings.flatMap(({ check, severity, what, meaning, advice, runbook }) => [
    `${paint(STYLES[severity], severity.toUpperCase().padEnd(7))}  ${paint('strong', check)}`,
    wrapped(what, columns, indent),
    ...(meaning === undefined ? [] : [wrapped(meaning, columns, indent)]),
    ...(advice === undefined ? [] : [wrapped(advice, columns, indent, '-> ')]),
    ...(runbook === undefined ? [] : [wrapped(`Runbook: ${runbook}`, columns, indent, '-> ')]),
  ]);
  const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  return `${[...lines, '', `${counted(count('error'), 'error')}, ${counted(count('warning'), 'warning')}, ${counted(count('ok'), 'check')} passed.`].join('\n')}\n`;
}
