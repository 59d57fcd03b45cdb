import { type Audit, auditFindings, auditOf, type LeaseAudit, shortSeconds } from '../inspection/audit.ts';
import { observeForAudit, type UnreadPart } from '../inspection/audit-observation.ts';
import { type CrashEvidence, PLAIN_LEASES_ASK, type Sureness } from '../inspection/audit-pods.ts';
import { counted, listed } from '../inspection/wording.ts';
import type { AuditSettings } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { formatDurationMs, humanDuration, printableLines } from '../support/text.ts';
import { warnAboutSkew, withCluster } from './cluster-connection.ts';
import { exitCodeOf } from './exit-code.ts';
import {
  type Cell,
  type Column,
  countedProblems,
  FINDING_INDENT,
  findingLines,
  type Layout,
  NONE,
  noneFound,
  print,
  rowsFor,
  type Style,
  severityStyles,
  tableLines,
  wrapped,
} from './output.ts';

/** Observes Leases and prints the audit. Resolves to the exit code of the most severe finding. */
export function showAudit(settings: AuditSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    const { clock, namespace } = connection;
    const { forMs, output } = settings;
    const seen = await observeForAudit({
      ...connection,
      watchMs: forMs,
      signal: host.stopOn('SIGTERM', 'SIGINT'),
      onWatch: (leases) =>
        host.stderr.write(
          `Watching ${counted(leases, 'Lease')} for ${formatDurationMs(forMs)}; Ctrl-C shows what was seen by then.\n`,
        ),
    });
    warnAboutSkew(clock, host);
    const audit = auditOf(seen);
    for (const warning of warningsOn(audit, namespace)) host.stderr.write(`warning: ${warning}\n`);
    print(audit, output, host, (layout) => {
      if (audit.leases.length > 0) return auditLines(audit, settings, layout);
      host.stderr.write(`${noneFound('Leases', namespace)}${leftOutText(audit)}\n`);
      return [];
    });
    return exitCodeOf(audit.leases.flatMap(({ findings }) => findings));
  });
}

const MAX_REASON_LENGTH = 500;

const CONSEQUENCES: Readonly<Record<UnreadPart['what'], string>> = {
  pods: 'Pods could not be listed: the Pod of each holder, its replicas and crash evidence are unknown',
  leasecandidates: 'LeaseCandidates could not be listed: a coordinated elector may be shown as a plain one',
  renewals: 'renewals were not watched to the end: their intervals may be unknown',
};

function warningsOn({ unread, leases }: Audit, namespace: string): readonly string[] {
  const warnings = [...Map.groupBy(unread, ({ what }) => what)].map(([what, parts]) => {
    const reasons = [...new Set(parts.map(({ why }) => why))].join(', ');
    const grants = parts.flatMap(({ grant }) => grant ?? []);
    const remedy = grants.length === 0 ? '' : `. Grant: ${grants.join(', ')}`;
    return `${CONSEQUENCES[what]} (${printableLines(reasons, MAX_REASON_LENGTH)})${remedy}`;
  });
  // The audit has read only the Pods of this namespace. The Pod of a holder may be in another namespace.
  if (namespace !== '' && leases.some(({ elector, foundBy }) => elector && foundBy === 'none'))
    warnings.push(
      `only Pods in ${namespace} namespace were looked at; -A also finds Pods in other namespaces`,
    );
  return warnings;
}

function auditLines(audit: Audit, settings: AuditSettings, layout: Layout): readonly string[] {
  const columns = columnsFor(settings, fullyWatchedSeconds(audit));
  return [
    ...tableLines(rowsFor(columns, audit.leases), layout.paint),
    ...allFindingLines(audit.leases, layout),
    ...evidenceLines(audit.leases, layout),
    '',
    ...sums(audit).map((sentence) => wrapped(sentence, layout.columns, '')),
  ];
}

/** Returns how long the audit watched renewals, in seconds; 0 if the watch failed. */
function fullyWatchedSeconds({ watchedSeconds, unread }: Audit): number {
  return unread.some(({ what }) => what === 'renewals') ? 0 : watchedSeconds;
}

function columnsFor(settings: AuditSettings, watchedSeconds: number): readonly Column<LeaseAudit>[] {
  const isWide = settings.output === 'wide';
  return [
    ['NAMESPACE', ({ namespace }) => namespace, settings.allNamespaces],
    ['NAME', ({ name }) => name],
    ['HOLDER', (lease) => ({ text: holderText(lease), style: styleOf(lease) })],
    ['FOUND BY', ({ foundBy }) => NOT_FOUND[foundBy] ?? foundBy],
    ['ELECTOR', ({ elector }) => elector ?? '-'],
    ['DURATION', ({ durationSeconds }) => secondsText(durationSeconds)],
    ['RENEWS', (lease) => renewsText(lease, watchedSeconds)],
    ['CRASH COSTS', ({ crashCostsSeconds }) => secondsText(crashCostsSeconds)],
    ['STANDBYS', ({ standbys }) => String(standbys ?? '-'), isWide],
    ['RENEWED', ({ renewedSecondsAgo: ago }) => (ago === undefined ? NONE : humanDuration(ago)), isWide],
    ['TRANSITIONS', ({ leaseTransitions }) => String(leaseTransitions), isWide],
    ['NODE', ({ pod }) => pod?.node || '-', isWide],
    ['CRASH EVIDENCE', ({ crashEvidence }) => crashEvidence, isWide],
    ['IDENTITY', ({ holder }) => holder || NONE, isWide],
    ['FINDINGS', findingsCell],
  ];
}

function findingsCell(lease: LeaseAudit): Cell {
  const text = lease.findings.map(({ finding }) => finding).join(', ');
  return text === '' ? '-' : { text, style: styleOf(lease) };
}

function styleOf({ findings: [worst] }: LeaseAudit): Style {
  return severityStyles[worst?.severity ?? 'ok'];
}

/** How the column FOUND BY shows `none` (no holder, or no Pod found) and `unknown` (Pods could not be listed). */
const NOT_FOUND: Readonly<Partial<Record<Sureness, string>>> = { none: '-', unknown: '?' };

/** Describes a holder by its Pod (and container, if known), else by its identity. Adds the state unless it is `held`. */
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

/** Returns the interval between renewals. If unknown: a minimum such as `>30s` for a held and watched Lease, else `-`. */
function renewsText(lease: LeaseAudit, watchedSeconds: number): string {
  const { state, renewsEverySeconds, renewedSecondsAgo = 0 } = lease;
  const isLong = renewsEverySeconds === undefined && state === 'held' && watchedSeconds > 0;
  // `renewedSecondsAgo` is usually less than the watched time if a new holder acquired the Lease during the watch.
  return isLong
    ? `>${shortSeconds(Math.min(watchedSeconds, renewedSecondsAgo))}`
    : secondsText(renewsEverySeconds);
}

/** Maximum number of Leases that one finding names. */
const MAX_LEASES = 5;

function allFindingLines(leases: readonly LeaseAudit[], layout: Layout): readonly string[] {
  return Object.entries(auditFindings).flatMap(([name, finding]) => {
    const those = leases.flatMap(({ namespace, name: lease, findings }) =>
      findings.filter((one) => one.finding === name).map(({ what }) => `${namespace}/${lease}: ${what}`),
    );
    if (those.length === 0) return [];
    const more = those.length - MAX_LEASES;
    const rest = more > 0 ? [`${counted(more, 'more Lease')}: -o json has all.`] : [];
    const what = [...those.slice(0, MAX_LEASES), ...rest];
    return ['', ...findingLines({ ...finding, name, what }, layout)];
  });
}

/** Why crash evidence does not apply. Contains only the reasons that a user can change or should know. */
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

/** Formats the number of held Leases to which crash evidence applies, and the obstacles for other held Leases. */
function evidenceLines(leases: readonly LeaseAudit[], { paint, columns }: Layout): readonly string[] {
  const held = leases.filter(({ state }) => state === 'held');
  const byEvidence = Map.groupBy(held, ({ crashEvidence }) => crashEvidence);
  const applying = byEvidence.get('Applies') ?? [];
  const obstacles = (Object.keys(OBSTACLES) as CrashEvidence[]).flatMap((evidence) => {
    const those = byEvidence.get(evidence) ?? [];
    const names = listed(those.map(({ namespace, name }) => `${namespace}/${name}`));
    return those.length === 0 ? [] : [`${evidence}: ${names}: ${OBSTACLES[evidence]}`];
  });
  if (applying.length === 0 && obstacles.length === 0) return [];
  const sentences = [
    `For ${applying.length} of ${counted(held.length, 'held Lease')}, the status of a container would show that the holder has ended, before the Lease expires.`,
    ...(applying.some(({ elector }) => elector === 'plain') ? [PLAIN_LEASES_ASK] : []),
    ...obstacles,
  ];
  return [
    '',
    paint('strong', 'Crash evidence'),
    ...sentences.map((sentence) => wrapped(sentence, columns, FINDING_INDENT)),
  ];
}

const KINDS = ['plain', 'coordinated', 'participant', 'coordinator', 'without a holder'] as const;

function sums(audit: Audit): readonly string[] {
  const { leases, renewalsPerSecond } = audit;
  const byKind = Map.groupBy(leases, ({ elector }) => elector ?? 'without a holder');
  const kinds = KINDS.flatMap((kind) => {
    const those = byKind.get(kind) ?? [];
    return those.length === 0 ? [] : [`${those.length} ${kind}`];
  });
  const renewals =
    fullyWatchedSeconds(audit) > 0 ? ` ${renewalsPerSecond.toFixed(1)} renewals per second.` : '';
  return [
    `${counted(leases.length, 'Lease')}: ${kinds.join(', ')}.${renewals}${leftOutText(audit)}`,
    `${countedProblems(leases.flatMap(({ findings }) => findings))}.`,
  ];
}

function leftOutText({ heartbeats: { nodes, apiServers } }: Audit): string {
  if (nodes + apiServers === 0) return '';
  return ` Left out: heartbeats of ${counted(nodes, 'node')} and ${counted(apiServers, 'API server')}.`;
}
