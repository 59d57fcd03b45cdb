import {
  type Audit,
  type AuditFindingName,
  auditFindings,
  auditOf,
  type Elector,
  type LeaseAudit,
  shortSeconds,
} from '../inspection/audit.ts';
import { observeForAudit, type UnreadPart } from '../inspection/audit-observation.ts';
import { type CrashEvidence, PLAIN_LEASES_ASK, type Sureness } from '../inspection/audit-pods.ts';
import type { Severity } from '../inspection/findings.ts';
import { counted, listed } from '../inspection/wording.ts';
import type { AuditSettings } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { formatDurationMs, humanDuration, printableLines } from '../support/text.ts';
import { warnAboutSkew, withCluster } from './cluster-connection.ts';
import { exitCodeOf } from './exit-code.ts';
import {
  type Cell,
  FINDING_INDENT,
  findingLines,
  type Layout,
  layoutFor,
  severityStyles,
  structured,
  tableLines,
  wrapped,
} from './output.ts';

/** Watches the Leases of a cluster and prints the audit. Resolves to the exit code of the most severe finding. */
export function showAudit(settings: AuditSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async ({ client, clock, namespace }) => {
    const { forMs, output } = settings;
    const seen = await observeForAudit({
      client,
      clock,
      namespace,
      watchMs: forMs,
      signal: host.stopOn('SIGTERM', 'SIGINT'),
      onWatch: (leases) =>
        host.stderr.write(
          `Watching ${counted(leases, 'Lease')} for ${formatDurationMs(forMs)}; Ctrl-C shows what was seen by then.\n`,
        ),
    });
    warnAboutSkew(clock, host);
    const audit = auditOf(seen);
    const warnings = [...unreadWarnings(audit), ...scopeWarnings(audit, namespace)];
    for (const warning of warnings) host.stderr.write(`warning: ${warning}\n`);
    if (output === 'json' || output === 'yaml') host.stdout.write(structured(audit, output));
    else if (audit.leases.length > 0) host.stdout.write(auditText(audit, settings, layoutFor(host)));
    else host.stderr.write(nothingIn(namespace, audit));
    return exitCodeOf(audit.leases.flatMap(({ findings }) => findings));
  });
}

const MAX_REASON_LENGTH = 500;

const CONSEQUENCES: Readonly<Record<UnreadPart['what'], string>> = {
  pods: 'Pods could not be listed: the Pod of each holder, its replicas and crash evidence are unknown',
  leasecandidates: 'LeaseCandidates could not be listed: a coordinated elector may be shown as a plain one',
  renewals: 'renewals were not watched to the end: their intervals may be unknown',
};

function unreadWarnings({ unread }: Audit): readonly string[] {
  return [...Map.groupBy(unread, ({ what }) => what)].map(([what, parts]) => {
    const reasons = [...new Set(parts.map(({ why }) => why))].join(', ');
    const grants = parts.flatMap(({ grant }) => grant ?? []);
    const remedy = grants.length === 0 ? '' : `. Grant: ${grants.join(', ')}`;
    return `${CONSEQUENCES[what]} (${printableLines(reasons, MAX_REASON_LENGTH)})${remedy}`;
  });
}

/** Warns that a holder's Pod may be in a namespace that the audit did not read. */
function scopeWarnings({ leases }: Audit, namespace: string): readonly string[] {
  const isIncomplete =
    namespace !== '' && leases.some(({ elector, foundBy }) => elector && foundBy === 'none');
  return isIncomplete ? [`only Pods in ${namespace} namespace were looked at; -A finds those of others`] : [];
}

function nothingIn(namespace: string, audit: Audit): string {
  const leftOut = leftOutText(audit);
  if (namespace === '') return `No Leases found.${leftOut}\n`;
  return `No Leases found in ${namespace} namespace; -A looks into all of them.${leftOut}\n`;
}

/** Formats the table, then the findings with their meaning and advice, then the totals. */
function auditText(audit: Audit, settings: AuditSettings, layout: Layout): string {
  const rows = audit.leases.map((lease) => rowOf(lease, settings, fullyWatchedSeconds(audit)));
  const lines = [
    ...tableLines([headerFor(settings), ...rows], layout.paint),
    ...allFindingLines(audit.leases, layout),
    ...evidenceLines(audit.leases, layout),
    '',
    ...sums(audit).map((sentence) => wrapped(sentence, layout.columns, '')),
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns how long the audit watched renewals; 0 if the watch failed. */
function fullyWatchedSeconds({ watchedSeconds, unread }: Audit): number {
  return unread.some(({ what }) => what === 'renewals') ? 0 : watchedSeconds;
}

const NONE = '<none>';

function headerFor({ allNamespaces, output }: AuditSettings): readonly string[] {
  return [
    ...(allNamespaces ? ['NAMESPACE'] : []),
    ...['NAME', 'HOLDER', 'FOUND BY', 'ELECTOR', 'DURATION', 'RENEWS', 'CRASH COSTS'],
    ...(output === 'wide'
      ? ['STANDBYS', 'RENEWED', 'TRANSITIONS', 'NODE', 'CRASH EVIDENCE', 'IDENTITY']
      : []),
    'FINDINGS',
  ];
}

function rowOf(
  lease: LeaseAudit,
  { allNamespaces, output }: AuditSettings,
  watchedSeconds: number,
): readonly Cell[] {
  const { namespace, name, elector, durationSeconds, crashCostsSeconds } = lease;
  const style = severityStyles[lease.findings[0]?.severity ?? 'ok'];
  const findings = lease.findings.map(({ finding }) => finding).join(', ');
  return [
    ...(allNamespaces ? [namespace] : []),
    name,
    { text: holderText(lease), style },
    NOT_FOUND[lease.foundBy] ?? lease.foundBy,
    elector ?? '-',
    secondsText(durationSeconds),
    renewsText(lease, watchedSeconds),
    secondsText(crashCostsSeconds),
    ...(output === 'wide' ? wideCells(lease) : []),
    findings === '' ? '-' : { text: findings, style },
  ];
}

function wideCells(lease: LeaseAudit): readonly Cell[] {
  const { standbys, renewedSecondsAgo, leaseTransitions, pod, crashEvidence, holder } = lease;
  return [
    standbys === undefined ? '-' : String(standbys),
    renewedSecondsAgo === undefined ? NONE : humanDuration(renewedSecondsAgo),
    String(leaseTransitions),
    pod?.node || '-',
    crashEvidence,
    holder || NONE,
  ];
}

/** The cell of the table if no Pod was found. */
const NOT_FOUND: Readonly<Partial<Record<Sureness, string>>> = { none: '-', unknown: '?' };

/** Returns the holder's Pod and container; without a Pod, its identity. */
function holderText({ namespace, holder, state, pod }: LeaseAudit): string {
  if (holder === '') return NONE;
  const note = state === 'held' ? '' : ` (${state})`;
  if (!pod) return `${holder}${note}`;
  const place = pod.namespace === namespace ? '' : `${pod.namespace}/`;
  const container = pod.container === undefined ? '' : `:${pod.container}`;
  return `${place}${pod.name}${container}${note}`;
}

function secondsText(seconds: number | undefined): string {
  return seconds === undefined ? '-' : shortSeconds(seconds);
}

/** Returns the interval of renewals; if none was seen, a lower bound. */
function renewsText({ state, renewsEverySeconds }: LeaseAudit, watchedSeconds: number): string {
  const isLong = renewsEverySeconds === undefined && state === 'held' && watchedSeconds > 0;
  return isLong ? `>${shortSeconds(watchedSeconds)}` : secondsText(renewsEverySeconds);
}

/** Maximum number of Leases that one finding names. */
const MAX_LEASES = 5;

function allFindingLines(leases: readonly LeaseAudit[], layout: Layout): readonly string[] {
  const names = Object.keys(auditFindings) as AuditFindingName[];
  return names.flatMap((name) => {
    const { severity, meaning, advice } = auditFindings[name];
    const those = leases.flatMap(({ namespace, name: lease, findings }) =>
      findings.filter(({ finding }) => finding === name).map(({ what }) => `${namespace}/${lease}: ${what}`),
    );
    if (those.length === 0) return [];
    const more = those.length - MAX_LEASES;
    const rest = more > 0 ? `${counted(more, 'more Lease')}: -o json has all.` : undefined;
    const sentences = [...those.slice(0, MAX_LEASES), rest, meaning];
    return ['', ...findingLines({ severity, name, sentences, advice: [advice] }, layout)];
  });
}

/** Why crash evidence does not apply. Only reasons that a user can change or should know. */
const OBSTACLES: Readonly<Partial<Record<CrashEvidence, string>>> = {
  NoPod: 'no Pod was found for the holder',
  PodInOtherNamespace: 'the Pod is in another namespace: let it elect in its own',
  MirrorPod: 'a static Pod: the kubelet restarts it under the same name',
  HostNetwork: 'the identity names a node and not a Pod: set it to <pod name>_<uuid>',
  NoOwnerReference: 'set an ownerReference to the Pod on the LeaseCandidate',
  NoHostInIdentity: 'set the identity to <pod name>_<uuid>, as client-go does by default',
  SeveralPods: 'several Pods have the hostname in the identity',
  NoAcquireTime: 'the elector does not write acquireTime',
  HostProcesses: 'the Pod has hostPID',
  SharedProcesses: 'the Pod has shareProcessNamespace',
  ContainerUnknown:
    'name the container that leads: kubectl.kubernetes.io/default-container in the annotations of the Pod',
};

/** Says for which Leases the end of a container would prove the end of the holder, and for which not. */
function evidenceLines(leases: readonly LeaseAudit[], { paint, columns }: Layout): readonly string[] {
  const held = leases.filter(({ state }) => state === 'held');
  const byEvidence = Map.groupBy(held, ({ crashEvidence }) => crashEvidence);
  const applying = byEvidence.get('Applies') ?? [];
  const applies = applying.length;
  const hasPlain = applying.some(({ elector }) => elector === 'plain');
  const obstacles = (Object.keys(OBSTACLES) as CrashEvidence[]).flatMap((evidence) => {
    const those = byEvidence.get(evidence) ?? [];
    const names = listed(those.map(({ namespace, name }) => `${namespace}/${name}`));
    return those.length === 0 ? [] : [`${evidence}: ${names}: ${OBSTACLES[evidence]}`];
  });
  if (applies === 0 && obstacles.length === 0) return [];
  return [
    '',
    paint('strong', 'Crash evidence'),
    wrapped(
      `For ${applies} of ${counted(held.length, 'held Lease')}, the status of a container would show that the holder has ended, before the Lease expires.`,
      columns,
      FINDING_INDENT,
    ),
    ...(hasPlain ? [wrapped(PLAIN_LEASES_ASK, columns, FINDING_INDENT)] : []),
    ...obstacles.map((obstacle) => wrapped(obstacle, columns, FINDING_INDENT)),
  ];
}

function sums(audit: Audit): readonly string[] {
  const { leases, renewalsPerSecond } = audit;
  const all = leases.flatMap(({ findings }) => findings);
  const count = (severity: Severity) => all.filter((finding) => finding.severity === severity).length;
  const electors = Map.groupBy(leases, ({ elector }) => elector);
  const kinds = (['plain', 'coordinated', 'participant', 'coordinator'] satisfies Elector[]).flatMap(
    (kind) => {
      const those = electors.get(kind)?.length ?? 0;
      return those === 0 ? [] : [`${those} ${kind}`];
    },
  );
  const renewals =
    fullyWatchedSeconds(audit) > 0 ? ` ${renewalsPerSecond.toFixed(1)} renewals per second.` : '';
  return [
    `${counted(leases.length, 'Lease')}: ${[...kinds, ...freeOnes(leases)].join(', ')}.${renewals}${leftOutText(audit)}`,
    `${counted(count('error'), 'error')}, ${counted(count('warning'), 'warning')}.`,
  ];
}

function freeOnes(leases: readonly LeaseAudit[]): readonly string[] {
  const free = leases.filter(({ elector }) => elector === undefined).length;
  return free === 0 ? [] : [`${free} without a holder`];
}

function leftOutText({ heartbeats: { nodes, apiServers } }: Audit): string {
  if (nodes + apiServers === 0) return '';
  return ` Left out: heartbeats of ${counted(nodes, 'node')} and ${counted(apiServers, 'API server')}.`;
}
