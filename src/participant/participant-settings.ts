import { parseInt32 } from '../coordination/candidate-priority.ts';
import { FENCE, isLeaseName, type PodReference } from '../election/model.ts';
import { parseVersion } from '../election/strategies.ts';
import { SAFE_SHARE } from '../support/clock.ts';
import type { CandidateDescription } from './candidate-body.ts';
import type { ElectorTiming } from './elector-decision.ts';
import type { ParticipateOptions } from './participate-options.ts';

/** What a participant is to do, checked and with every default in place. */
export interface ParticipantSettings {
  readonly description: CandidateDescription;
  readonly timing: ElectorTiming;
}

/** What options leave to the surroundings. */
export interface Surroundings {
  /** Where the program is at home. */
  readonly namespace: string | undefined;
  /** The namespace of the program's Pod; undefined: not known. */
  readonly podNamespace: string | undefined;
  /** The machine's name. */
  readonly hostname: string;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** The strategy of the API itself. */
const DEFAULT_STRATEGY = 'OldestEmulationVersion';
/** As client-go's elector has them, in milliseconds. */
const DEFAULT_TIMING: ElectorTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2000,
};
/** client-go's bound: renewals must fit into the deadline, jitter included. */
const JITTER_FACTOR = 1.2;
const LONGEST_HOST_PART = 200;

/** Checks the options and fills in what they leave out. @throws RangeError that says what is wrong and what to do. */
export function participantSettings(
  options: ParticipateOptions,
  surroundings: Surroundings,
): ParticipantSettings {
  const { lease, binaryVersion, emulationVersion = binaryVersion, strategy = DEFAULT_STRATEGY } = options;
  const { namespace = surroundings.namespace, labels = {}, priority = 0, pod } = options;
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
  const owner = ownerIn(namespace, pod, surroundings);
  const description = { namespace, name, leaseName: lease, binaryVersion, emulationVersion, strategy };
  return { description: { ...description, priority, labels, pod: owner }, timing: timingOf(options) };
}

/**
 * The Pod that owns the LeaseCandidate. An owner has to be in the namespace of what it owns: the garbage collector takes any
 * other for gone, and deletes the LeaseCandidate each time that it is published.
 */
function ownerIn(
  namespace: string,
  pod: ParticipateOptions['pod'],
  surroundings: Surroundings,
): PodReference | undefined {
  if (!pod) return undefined;
  const { name, uid, namespace: podNamespace = surroundings.podNamespace } = pod;
  return podNamespace === namespace ? { name, uid } : undefined;
}

/**
 * Unique for each incarnation of a Pod, and the same for its containers when they are restarted; elsewhere unique for each run
 * of a program.
 */
function defaultIdentity(pod: ParticipateOptions['pod'], { hostname, random }: Surroundings): string {
  if (pod) return `${pod.name}-${pod.uid.slice(0, 8)}`;
  const host = hostname
    .toLowerCase()
    .slice(0, LONGEST_HOST_PART)
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
  // Kubernetes' own LeaseCandidates take it for none.
  check(
    emulation?.compare('0.0.0') !== 0,
    'emulationVersion',
    emulationVersion,
    'is taken for none by the API server; give 0.0.1 or a higher one',
  );
}

function timingOf(options: ParticipateOptions): ElectorTiming {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = {
    ...DEFAULT_TIMING,
    ...definedTiming(options),
  };
  for (const [name, ms] of Object.entries({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }))
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
  return { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
}

function definedTiming({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: ParticipateOptions) {
  return {
    ...(leaseDurationMs !== undefined && { leaseDurationMs }),
    ...(renewDeadlineMs !== undefined && { renewDeadlineMs }),
    ...(retryPeriodMs !== undefined && { retryPeriodMs }),
  };
}

function check(isRight: boolean, name: string, value: unknown, problem: string): void {
  if (!isRight) throw new RangeError(`${name}: ${JSON.stringify(value)} ${problem}`);
}
