import { type LockHolder, readLock } from '../inspection/evidence.ts';
import { accountForEvidence, type ConditionAccount } from '../inspection/evidence-account.ts';
import { accountFor, type LeaseAccount, type StrategyAccount } from '../inspection/lease-account.ts';
import type { RankedCandidate } from '../inspection/lease-status.ts';
import type { Rehearsal } from '../inspection/rehearsal.ts';
import { describePriority, listed } from '../inspection/wording.ts';
import type { ExplainSettings } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { humanDuration, printable, shortened } from '../support/text.ts';
import { findElection, warnAboutSkew, withCluster } from './cluster-connection.ts';
import { exitCode } from './exit-code.ts';
import {
  type Cell,
  type Column,
  type Layout,
  leaseStyle,
  NONE,
  type Paint,
  print,
  rowsFor,
  tableLines,
  wrapped,
} from './output.ts';

/** Prints why a Lease has its leader, or why it has none. Resolves to an exit code. */
export function showExplanation(leaseName: string, settings: ExplainSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    const [{ election, now }, lock] = await Promise.all([
      findElection(leaseName, settings, connection),
      readLock(connection.client, connection.clock, settings.lockNamespace),
    ]);
    warnAboutSkew(connection.clock, host);
    const evidence = settings.isCrashEvidenceUsed
      ? await accountForEvidence(connection.client, election.input, now)
      : undefined;
    const account = accountFor(election, lock, now, evidence);
    print(account, settings.output, host, (layout) => accountLines(account, layout));
    return exitCode.ok;
  });
}

/** Formats the steps of a rehearsal, one per line. The last line describes the result. */
export function stepLines(rehearsal: Rehearsal, paint: Paint): readonly string[] {
  const lines = tableLines(
    rehearsal.steps.map(({ atMs, text, reason: why }) => [
      `  +${(atMs / 1000).toFixed(1)}s`,
      text,
      { text: why ?? '', style: 'dim' },
    ]),
    paint,
  );
  return [...lines, `  ${endOf(rehearsal)}`];
}

const INDENT = '  ';

function accountLines(account: LeaseAccount, layout: Layout): readonly string[] {
  const { status, strategy, coordinator, blockers, candidates, ifLeaderDied, crashEvidence } = account;
  const { paint, columns } = layout;
  const paragraph = (text: string) => wrapped(text, columns, INDENT);
  const section = (title: string, lines: readonly string[]) => ['', paint('strong', title), ...lines];
  const reservation = ifLeaderDied?.holder && RESERVATIONS[coordinator.kind];
  const facts: readonly (readonly Cell[])[] = [
    ['Lease:', `${status.namespace}/${status.name}`],
    ['Holder:', holderText(account)],
    ['Preferred holder:', status.preferredHolder || NONE],
    ['Reason:', { text: account.reason, style: leaseStyle(status) }],
    ['Waiting for:', status.waitingFor ?? '-'],
    ['Coordinator:', coordinatorText(coordinator)],
  ];
  return [
    ...tableLines(facts, paint),
    ...section('Why', [paragraph(account.verdict)]),
    ...section('Candidates, the best first', candidateLines(candidates, paint)),
    ...section('Strategy', strategySentences(strategy).map(paragraph)),
    ...(ifLeaderDied
      ? section('If the leader died now', [
          ...(reservation ? [paragraph(reservation)] : []),
          ...stepLines(ifLeaderDied, paint),
        ])
      : []),
    ...(crashEvidence ? section('Crash evidence (rule 17)', conditionLines(crashEvidence, layout)) : []),
    ...section(
      'What stands in the way',
      blockers.length === 0
        ? [paragraph('Nothing.')]
        : blockers.flatMap(({ what, advice }) => [paragraph(what), wrapped(advice, columns, INDENT, '-> ')]),
    ),
  ];
}

function holderText({ status, expiresInSeconds }: LeaseAccount): string {
  const { holder, renewedSecondsAgo } = status;
  if (holder === '') return NONE;
  const note = status.holderNote ?? 'expired';
  const left =
    expiresInSeconds === undefined ? note : `expires in ${humanDuration(Math.ceil(expiresInSeconds))}`;
  return `${holder} (${renewedText(renewedSecondsAgo)}, ${left})`;
}

function renewedText(secondsAgo: number | undefined): string {
  if (secondsAgo === undefined) return 'never renewed';
  return secondsAgo < -1 ? 'renewed at a time in the future' : `renewed ${humanDuration(secondsAgo)} ago`;
}

function coordinatorText(lock: LockHolder): string {
  if (lock.kind === 'unknown') return 'unknown: these credentials may not read the lock';
  if (lock.kind === 'none') return 'none';
  return lock.kind === 'ours' ? lock.holder : `the one built into kube-apiserver (${lock.holder})`;
}

/** Notes above the simulated steps. The simulation always assumes that this project's coordinator runs. */
const RESERVATIONS: Readonly<Partial<Record<LockHolder['kind'], string>>> = {
  none: 'Nothing happens: no coordinator runs. With a coordinator:',
  builtIn:
    'These are the steps by the rules of this project. The built-in coordinator decides here, and takes longer.',
};

function candidateLines(candidates: readonly RankedCandidate[], paint: Paint): readonly string[] {
  if (candidates.length === 0) return [`${INDENT}None.`];
  const hasPriorities = candidates.some(
    ({ priority, priorityUntil }) => priority !== 0 || priorityUntil !== undefined,
  );
  const columns: readonly Column<RankedCandidate>[] = [
    [`${INDENT}NAME`, nameCell],
    ['BINARY', ({ binaryVersion = NONE }) => binaryVersion],
    ['EMULATION', ({ emulationVersion = NONE }) => emulationVersion],
    ['PRIORITY', ({ priority, priorityUntil }) => describePriority(priority, priorityUntil), hasPriorities],
    ['STATE', stateText],
    ['RENEWED', ({ renewedSecondsAgo }) => humanDuration(renewedSecondsAgo)],
    ['WHY', ({ why }) => why],
  ];
  return tableLines(rowsFor(columns, candidates), paint);
}

function nameCell({ name, isHolder }: RankedCandidate): Cell {
  const text = `${INDENT}${name}`;
  return isHolder ? { text, style: 'strong' } : text;
}

function stateText({ state, isHolder, isPreferred }: RankedCandidate): string {
  if (isHolder) return `${state}, holder`;
  return isPreferred ? `${state}, preferred` : state;
}

const ASSUMED =
  'The proof also needs a coordinator that has seen the container while it ran and, for a plain elector, has seen the Pod before the holder acquired the Lease.';

function conditionLines(conditions: readonly ConditionAccount[], layout: Layout): readonly string[] {
  const rows = conditions.map(({ condition, holds, why }): readonly Cell[] => [
    `${INDENT}${condition}`,
    holds === undefined ? 'unknown' : { text: holds ? 'yes' : 'no', style: holds ? 'good' : 'warning' },
    why,
  ]);
  return [...tableLines(rows, layout.paint), wrapped(ASSUMED, layout.columns, INDENT)];
}

function strategySentences(strategy: StrategyAccount): readonly string[] {
  const { resolved, askedBy, others, onLease, writtenBy } = strategy;
  const by = (what: string, names: readonly string[]) =>
    names.length === 0 ? '' : `, ${what} by ${listed(names)}`;
  // `askedBy` and `others` omit held back candidates: such candidates determine the strategy only as a last resort.
  const unresolved =
    others.length === 0
      ? 'No live candidate asks for a strategy.'
      : 'The candidates do not agree on a strategy.';
  const outvoted = others.map(({ name, asksFor }) => `${name} asks for ${asksFor.join(' > ')}`);
  return [
    resolved === undefined ? unresolved : `${resolved}${by('asked for', askedBy)}.`,
    ...(outvoted.length === 0 ? [] : [`${outvoted.join('; ')}.`]),
    onLease === '' ? 'The Lease has no strategy.' : `The Lease has ${onLease}${by('written', writtenBy)}.`,
  ];
}

function endOf({ holder: name, reason, isSettled, tookMs }: Rehearsal): string {
  const holder = shortened(printable(name), 100);
  if (!isSettled) {
    const lasted = humanDuration(tookMs / 1000);
    return `The election is not settled after ${lasted}, and ${holder || 'no candidate'} holds the Lease (${reason}).`;
  }
  if (holder !== '') return `${holder} leads in the end (${reason}).`;
  switch (reason) {
    case 'NoCandidates':
    case 'PlainElector':
      return `No candidate leads in the end (${reason}); a program that takes Leases by itself may lead.`;
    case 'ThirdPartyStrategy':
      return `Another controller chooses the leader in the end (${reason}).`;
    case 'CoordinatorLease':
      return `Another coordinator takes the Lease by itself (${reason}).`;
    default:
      return `No candidate leads in the end (${reason}).`;
  }
}
