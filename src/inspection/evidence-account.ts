import { asksForEvidence } from '../coordination/lease.ts';
import { decodePod } from '../coordination/pod.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import {
  bindToContainer,
  hostInIdentity,
  hostnamesOf,
  MISSING_BINDINGS,
  type ObservedPod,
  observePod,
  type Pod,
} from '../election/holder-binding.ts';
import {
  type EndEvidence,
  judgeHolderEnd,
  MISSING_PROOFS,
  type MissingProof,
} from '../election/holder-end.ts';
import type { Now } from '../election/model.ts';
import { type ElectionInput, surveyTenure } from '../election/view.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { hasStatus, unlessStatus } from '../kubernetes/errors.ts';
import { isKubernetesObject } from '../kubernetes/objects.ts';
import { humanDuration } from '../support/text.ts';
import { listPods } from './elections.ts';

/** The conditions of crash evidence, in the order of rule 17. Here, `Silent` includes the condition (e), Settled. */
const CONDITIONS = ['Bound', 'Exited', 'SameIncarnation', 'Silent'] as const;

type Condition = (typeof CONDITIONS)[number];

export interface ConditionAccount {
  readonly condition: Condition;
  /** Undefined if it is not known whether the condition holds, or if an earlier condition does not hold. */
  readonly holds: boolean | undefined;
  readonly why: string;
}

/**
 * If the holder is late or the Lease has expired, returns which conditions of crash evidence hold (rule 17); otherwise
 * undefined. Assumes that the coordinator has seen all Pods and containers since their creation.
 */
export async function accountForEvidence(
  client: KubernetesClient,
  input: ElectionInput,
  now: Now,
): Promise<readonly ConditionAccount[] | undefined> {
  if (!input.lease?.holderIdentity || !isHolderSilent(input, now)) return undefined;
  try {
    const reads = [readPods(client, input), isAskedBy(client, input.namespace)] as const;
    const [pods, isAskedByNamespace] = await Promise.all(reads);
    return describeConditions(input, pods, isAskedByNamespace, now);
  } catch (error) {
    if (!hasStatus(error, 403, 404)) throw error;
    return accounts('Bound', undefined, `Pods could not be read: ${error.message}`);
  }
}

function isHolderSilent(input: ElectionInput, { monotonic: at }: Now): boolean {
  const tenure = surveyTenure(input, at);
  return tenure.kind === 'held' ? at >= tenure.lateAt : tenure.need === 'LeaseExpired';
}

/** Returns the owner Pod of the holder's candidate; without an owner, the readable Pods with the holder's hostname. */
async function readPods(
  client: KubernetesClient,
  { namespace, lease, candidates }: ElectionInput,
): Promise<readonly Pod[]> {
  const holder = candidates.find(({ candidate }) => candidate.name === lease?.holderIdentity);
  if (holder?.candidate.pod) {
    const path = resourcePaths.pod(namespace, holder.candidate.pod.name);
    const raw = await unlessStatus(client.request({ method: 'GET', path }), 404);
    return isKubernetesObject(raw) ? [decodePod(raw)] : [];
  }
  const host = hostInIdentity(lease?.holderIdentity);
  if (host === undefined) return [];
  const everywhere = await unlessStatus(listPods(client, '', decodePod), 403);
  const pods = everywhere ?? (await listPods(client, namespace, decodePod));
  return pods.filter((pod) => hostnamesOf(pod).includes(host));
}

async function isAskedBy(client: KubernetesClient, namespace: string): Promise<boolean> {
  const path = `${resourcePaths.namespaces}/${encodeURIComponent(namespace)}`;
  const raw = await unlessStatus(client.request({ method: 'GET', path }), 403, 404);
  return isKubernetesObject(raw) && asksForEvidence(raw);
}

function describeConditions(
  { lease, memory, candidates }: ElectionInput,
  pods: readonly Pod[],
  isAskedByNamespace: boolean,
  now: Now,
): readonly ConditionAccount[] {
  const { record } = memory;
  if (!lease || !record) return [];
  const evidence: EndEvidence = {
    lease,
    memory: { ...memory, record: { ...record, acquiredAfter: Number.POSITIVE_INFINITY } },
    candidate: candidates.find(({ candidate }) => candidate.name === record.holder)?.candidate,
    hasCandidates: candidates.length > 0,
    isAskedByNamespace,
    possible: { pods: pods.map((pod) => asIfObserved(pod, now)) },
  };
  const end = judgeHolderEnd(evidence);
  const binding = bindToContainer(evidence, pods);
  const bound =
    binding.kind === 'bound'
      ? `container ${binding.container.name} of the Pod ${binding.pod.namespace}/${binding.pod.name}`
      : '';
  if (end.kind === 'unproven')
    return accounts(conditionOf(end.missing), false, `${end.missing}: ${MISSING_PROOFS[end.missing]}`, bound);
  const exited = `${end.instance.id} has ended: ${end.instance.reason}`;
  const leftMs = end.at - now.monotonic;
  if (leftMs <= 0) return accounts('Silent', true, 'the holder has not renewed since then', bound, exited);
  const left = humanDuration(Math.ceil(leftMs / 1000));
  return accounts('Silent', false, `the holder may still renew for ${left}`, bound, exited);
}

/** Returns the Pod as a coordinator would have observed it since the Pod's creation. */
function asIfObserved(pod: Pod, now: Now): ObservedPod {
  const observed = observePod(undefined, pod, Number.NEGATIVE_INFINITY);
  const ended = pod.containers.flatMap((container) => container.ended);
  const instantOf = (wall = now.wall) => now.monotonic - Number(now.wall - wall) / 1000;
  return {
    ...observed,
    seenRunning: new Set(ended.map(({ id }) => id)),
    endSeenAt: new Map(ended.map(({ id, finishedAt }) => [id, instantOf(finishedAt)])),
  };
}

const NOT_SAME_INCARNATION: readonly MissingProof[] = ['HolderNeverRenewed', 'OtherInstance', 'RenewedAtEnd'];

function conditionOf(missing: MissingProof): Condition {
  if (missing in MISSING_BINDINGS || missing === 'PodTooNew') return 'Bound';
  return NOT_SAME_INCARNATION.includes(missing) ? 'SameIncarnation' : 'Exited';
}

/** Describes all conditions: those before `decisive` hold, and those after `decisive` are unknown. */
function accounts(
  decisive: Condition,
  holds: boolean | undefined,
  why: string,
  bound = '',
  exited = 'the status contains an end that the kubelet has seen',
): readonly ConditionAccount[] {
  const place = CONDITIONS.indexOf(decisive);
  const proofs = [bound, exited, 'that run of the container has written the last renewal'];
  return CONDITIONS.map((condition, index) => {
    if (index === place) return { condition, holds, why };
    if (index > place) return { condition, holds: undefined, why: '' };
    return { condition, holds: true, why: proofs[index] ?? '' };
  });
}
