import { parseInt32 } from '../coordination/candidate-priority.ts';
import { FENCE, isLeaseName } from '../election/model.ts';
import { parseVersion } from '../election/strategies.ts';
import { SAFE_SHARE } from '../support/clock.ts';
import type { CandidateDescription } from './candidate-body.ts';
import type { ElectorTiming } from './elector-decision.ts';
import type { ParticipateOptions } from './participant-options.ts';

export interface Surroundings {
  readonly hostname: string;
  readonly random: () => number;
}

/** Validates the options and adds the defaults. @throws RangeError that names the invalid option and what to do. */
export function participantSettings(options: ParticipateOptions, surroundings: Surroundings) {
  const { lease: leaseName, namespace = '', binaryVersion, emulationVersion = binaryVersion, pod } = options;
  const { strategy = 'OldestEmulationVersion', labels = {}, priority = 0 } = options;
  // These defaults are the values of Kubernetes' own components. client-go has no defaults.
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2000 } = options;
  const name = options.identity ?? defaultIdentity(pod, surroundings);
  const description: CandidateDescription = {
    ...{ namespace, name, leaseName, binaryVersion, emulationVersion, strategy, priority, labels },
    // The garbage collector looks for the owner only in the LeaseCandidate's namespace. It would not find an owner in
    // another namespace, and would delete the LeaseCandidate after each publication.
    pod: pod?.namespace === namespace ? { name: pod.name, uid: pod.uid } : undefined,
  };
  const timing = { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
  const problem = [...problemsOf(description), ...problemsOfTiming(timing)].find(Boolean);
  if (problem) throw new RangeError(problem);
  return { description, timing };
}

/**
 * Returns the default identity. With `pod`, the identity stays the same when a container restarts. Without `pod`, each
 * process gets a new identity.
 */
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

/** One entry for each check: a sentence that describes the problem, or a falsy value if there is none. */
type Problems = readonly (string | false | undefined)[];

function problemsOf(description: CandidateDescription): Problems {
  const { namespace, name, leaseName, binaryVersion, emulationVersion, strategy, priority } = description;
  const [binary, emulation] = [parseVersion(binaryVersion), parseVersion(emulationVersion)];
  const noVersion = 'is no semantic version; give one such as 1.4.2';
  return [
    !isLeaseName(leaseName) &&
      `lease: "${leaseName}" is no name of a Lease; give a DNS subdomain, such as checkout`,
    namespace === '' && 'namespace: unknown; give the namespace of the Lease',
    (!isLeaseName(name) || name === FENCE) &&
      `identity: "${name}" is no name of a LeaseCandidate; give a DNS subdomain: lowercase letters, digits, "-" and "."`,
    !binary && `binaryVersion: "${binaryVersion}" ${noVersion}`,
    !emulation && `emulationVersion: "${emulationVersion}" ${noVersion}`,
    binary &&
      emulation &&
      emulation.compare(binary) > 0 &&
      `emulationVersion: "${emulationVersion}" is above binaryVersion ${binaryVersion}; give that or a lower one`,
    emulation?.compare('0.0.0') === 0 &&
      `emulationVersion: "${emulationVersion}" counts as no version for the API server; give 0.0.1 or a higher one`,
    strategy === '' && 'strategy: "" is empty; leave it out for the default',
    parseInt32(String(priority)) !== priority &&
      `priority: ${priority} is no whole number of 32 bits; give one such as 10 or -10`,
  ];
}

/**
 * As in client-go, the renew deadline must be longer than this factor times the retry period, so that there is time for
 * a second attempt after a failed renewal.
 */
const JITTER_FACTOR = 1.2;

function problemsOfTiming(timing: ElectorTiming): Problems {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = timing;
  const leadsForMs = leaseDurationMs * SAFE_SHARE;
  return [
    ...Object.entries(timing).map(
      ([name, ms]) =>
        !(Number.isFinite(ms) && ms > 0) && `${name}: ${ms} is no duration in milliseconds; give one above 0`,
    ),
    leaseDurationMs % 1000 !== 0 &&
      `leaseDurationMs: ${leaseDurationMs} is no whole number of seconds, which is what a Lease has; give a multiple of 1000`,
    renewDeadlineMs >= leadsForMs &&
      `renewDeadlineMs: ${renewDeadlineMs} must be less than ${leadsForMs}, which is nine tenths of leaseDurationMs, ${leaseDurationMs}: a leader has to stop before its Lease expires on a machine with a faster clock`,
    renewDeadlineMs <= retryPeriodMs * JITTER_FACTOR &&
      `renewDeadlineMs: ${renewDeadlineMs} must be more than ${JITTER_FACTOR} times retryPeriodMs, ${retryPeriodMs}: a renewal that fails has to be repeated in time`,
  ];
}
