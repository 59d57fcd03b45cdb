import type { Registry } from 'prom-client';
import { parseInt32 } from '../coordination/candidate-priority.ts';
import { FENCE, isLeaseName } from '../election/model.ts';
import { parseVersion } from '../election/strategies.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { type Clock, SAFE_SHARE } from '../support/clock.ts';
import type { CandidateDescription } from './candidate-body.ts';
import type { ElectorTiming } from './elector-decision.ts';
import type { ParticipantLogger } from './participant-telemetry.ts';

export interface ParticipateOptions {
  readonly lease: string;
  /** The namespace of the Lease. Default: that of the kubeconfig's context; in a pod, that of the pod. */
  readonly namespace?: string;
  /** The program's version as strict semver: `1.4.2`. */
  readonly binaryVersion: string;
  /** The version that the program emulates, not above `binaryVersion`, which is the default. */
  readonly emulationVersion?: string;
  /** Default `OldestEmulationVersion`. */
  readonly strategy?: string;
  /**
   * The name of the LeaseCandidate and of the holder, unique among running programs. Default: `<pod name>-<first 8 of the pod's
   * uid>` if `pod` is given, else the host's name and a random part.
   */
  readonly identity?: string;
  /**
   * The Pod that the program runs in. It owns the LeaseCandidate, which is then deleted with it, if both are in one namespace.
   * The default of the Pod's namespace is that of the service account that the program connects with. With a kubeconfig or a
   * `client` it is not known, and has to be given.
   */
  readonly pod?: { readonly name: string; readonly uid: string; readonly namespace?: string };
  readonly labels?: Readonly<Record<string, string>>;
  /** An int32, higher first, default 0. It counts before the version. A higher one preempts (rule 16). */
  readonly priority?: number;
  /** A kubeconfig file. Default: the file that kubectl uses; in a pod, the service account. */
  readonly kubeconfig?: string;
  /** The context to use instead of the file's current one. */
  readonly context?: string;
  /** Used instead of a client made from a kubeconfig, and not closed. It requires `namespace`. */
  readonly client?: KubernetesClient;
  /** How long a renewal lasts, in milliseconds; default 15,000. Whole seconds. */
  readonly leaseDurationMs?: number;
  /** How long after its last renewal was sent a leader stops, in milliseconds; default 10,000. Less than 90 % of `leaseDurationMs`. */
  readonly renewDeadlineMs?: number;
  /** The interval between renewals, in milliseconds; default 2,000. */
  readonly retryPeriodMs?: number;
  /** Ends the term, then releases the Lease, then deletes the LeaseCandidate. */
  readonly signal?: AbortSignal;
  /** Errors that it throws are logged, or reported as a warning of the process. The same holds for `onObserved`. */
  readonly logger?: ParticipantLogger;
  /** Gets client-go's metrics of leader election. All participants of a program can share one registry. */
  readonly metrics?: Registry;
  /** Only publish the LeaseCandidate and follow the Lease: the program has an elector of its own, with this identity. */
  readonly candidateOnly?: boolean;
  /**
   * For how long after its start the participant leaves a Lease alone that it finds held under its own identity, in
   * milliseconds; default 0. For a participant that tells other programs that they lead: they may rely on what a former
   * process has told them.
   */
  readonly resumeDelayMs?: number;
  /** Called with the first state, and after each change. */
  readonly onObserved?: (state: ParticipantState) => void;
  /** Default: the clock of the system. For tests. */
  readonly clock?: Clock;
}

/** The options of a {@link Participant}, which connects to nothing by itself. */
export type ParticipantOptions = ParticipateOptions & Required<Pick<ParticipateOptions, 'client'>>;

/** What a participant knows of its election, and its part in it. */
export interface ParticipantState {
  /** The holder of the Lease; undefined if there is none, or its record has expired by this program's observation. */
  readonly holder: string | undefined;
  /** `leading` from the first renewal of a grant on; `ending` until the callback of a term that is over has ended. */
  readonly role: 'following' | 'leading' | 'ending';
  /** Whether it stands as candidate: false after `withdraw`, until `stand`. */
  readonly isStanding: boolean;
}

export interface ParticipantSettings {
  readonly description: CandidateDescription;
  readonly timing: ElectorTiming;
}

export interface Surroundings {
  readonly hostname: string;
  readonly random: () => number;
}

const DEFAULT_STRATEGY = 'OldestEmulationVersion';
/** The defaults of client-go's elector. */
const DEFAULT_TIMING: ElectorTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2000,
};
/** client-go's bound: a renewal with jitter has to fit into the deadline. */
const JITTER_FACTOR = 1.2;

/** Validates the options and adds the defaults. @throws RangeError that says which option is wrong and what to do. */
export function participantSettings(
  options: ParticipateOptions,
  surroundings: Surroundings,
): ParticipantSettings {
  const { lease, binaryVersion, emulationVersion = binaryVersion, strategy = DEFAULT_STRATEGY } = options;
  const { namespace, labels = {}, priority = 0, pod } = options;
  const name = options.identity ?? defaultIdentity(pod, surroundings);
  check(isLeaseName(lease), 'lease', lease, 'is no name of a Lease; give a DNS subdomain, such as checkout');
  if (namespace === undefined || namespace === '')
    throw new RangeError('namespace: none is known; give that of the Lease');
  check(
    isLeaseName(name) && name !== FENCE,
    'identity',
    name,
    'is no name of a LeaseCandidate; give a DNS subdomain: lowercase letters, digits, "-" and "."',
  );
  checkVersions(binaryVersion, emulationVersion);
  check(strategy !== '', 'strategy', strategy, `is empty; leave it out for ${DEFAULT_STRATEGY}`);
  check(
    parseInt32(String(priority)) === priority,
    'priority',
    priority,
    'is no whole number of 32 bits; give one such as 10 or -10',
  );
  // The garbage collector looks for the owner only in the namespace of the LeaseCandidate, and would delete the LeaseCandidate
  // each time that it is published.
  const owner = pod?.namespace === namespace && pod ? { name: pod.name, uid: pod.uid } : undefined;
  const description = { namespace, name, leaseName: lease, binaryVersion, emulationVersion, strategy };
  return { description: { ...description, priority, labels, pod: owner }, timing: timingOf(options) };
}

/** In a Pod the identity survives a restart of the container. Elsewhere each run of the program has its own. */
function defaultIdentity(pod: ParticipateOptions['pod'], { hostname, random }: Surroundings): string {
  if (pod) return `${pod.name}-${pod.uid.slice(0, 8)}`;
  const host = hostname
    .toLowerCase()
    .slice(0, 200)
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  const suffix = Math.floor(random() * 2 ** 40);
  return `${host || 'host'}-${suffix.toString(36).padStart(8, '0')}`;
}

function checkVersions(binaryVersion: string, emulationVersion: string): void {
  const problem = 'is no semantic version; give one such as 1.4.2';
  const [binary, emulation] = [parseVersion(binaryVersion), parseVersion(emulationVersion)];
  check(binary !== undefined, 'binaryVersion', binaryVersion, problem);
  check(emulation !== undefined, 'emulationVersion', emulationVersion, problem);
  check(
    !binary || !emulation || emulation.compare(binary) <= 0,
    'emulationVersion',
    emulationVersion,
    `is above binaryVersion ${binaryVersion}; give that or a lower one`,
  );
  check(
    emulation?.compare('0.0.0') !== 0,
    'emulationVersion',
    emulationVersion,
    'is taken for none by the API server; give 0.0.1 or a higher one',
  );
}

function timingOf(options: ParticipateOptions): ElectorTiming {
  const {
    leaseDurationMs = DEFAULT_TIMING.leaseDurationMs,
    renewDeadlineMs = DEFAULT_TIMING.renewDeadlineMs,
    retryPeriodMs = DEFAULT_TIMING.retryPeriodMs,
  } = options;
  const timing = { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
  for (const [name, ms] of Object.entries(timing))
    check(Number.isFinite(ms) && ms > 0, name, ms, 'is no duration in milliseconds; give one above 0');
  check(
    leaseDurationMs % 1000 === 0,
    'leaseDurationMs',
    leaseDurationMs,
    'is no whole number of seconds, which is what a Lease has; give a multiple of 1000',
  );
  const leadsForMs = leaseDurationMs * SAFE_SHARE;
  check(
    renewDeadlineMs < leadsForMs,
    'renewDeadlineMs',
    renewDeadlineMs,
    `must be less than ${leadsForMs}, which is nine tenths of leaseDurationMs, ${leaseDurationMs}: a leader has to stop before its Lease can go to another, by a faster clock than its own`,
  );
  check(
    renewDeadlineMs > retryPeriodMs * JITTER_FACTOR,
    'renewDeadlineMs',
    renewDeadlineMs,
    `must be more than ${JITTER_FACTOR} times retryPeriodMs, ${retryPeriodMs}: a renewal that fails has to be repeated in time`,
  );
  return timing;
}

function check(isValid: boolean, name: string, value: unknown, problem: string): void {
  if (!isValid) throw new RangeError(`${name}: ${JSON.stringify(value)} ${problem}`);
}
