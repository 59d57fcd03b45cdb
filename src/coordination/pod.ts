import type { ContainerInstance, EndedInstance, Pod, PodContainer } from '../election/holder-binding.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject, type JsonObject } from '../support/json.ts';
import { CONTAINER_ANNOTATION } from './lease.ts';
import {
  annotationsOf,
  commonText,
  keptText,
  objectsIn,
  specOf,
  textField,
  timeField,
} from './raw-object.ts';

const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
const DEFAULT_CONTAINER_ANNOTATION = 'kubectl.kubernetes.io/default-container';

/**
 * Decodes the fields of a v1 Pod that rule 17 uses. Never throws: treats an invalid field as not set. Drops all other
 * fields to save memory, because a cluster has thousands of Pods.
 */
export function decodePod(object: KubernetesObject): Pod {
  const { metadata } = object;
  const spec = specOf(object);
  const annotations = annotationsOf(object);
  const status = isJsonObject(object['status']) ? object['status'] : {};
  const statuses = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'].flatMap(
    (name) => objectsIn(status, name),
  );
  // Include restartable init containers: they run at the same time as the other containers.
  const sidecars = objectsIn(spec, 'initContainers').filter(
    ({ restartPolicy }) => restartPolicy === 'Always',
  );
  const hostname = textField(spec, 'hostnameOverride') ?? textField(spec, 'hostname');
  return {
    namespace: commonText(metadata.namespace ?? '', undefined),
    name: metadata.name,
    uid: metadata.uid ?? '',
    hostname: keptText(hostname ?? shortHostname(metadata.name), metadata.name),
    isOnHostNetwork: spec['hostNetwork'] === true,
    isMirror: MIRROR_ANNOTATION in annotations,
    hasHostPid: spec['hostPID'] === true,
    sharesProcessNamespace: spec['shareProcessNamespace'] === true,
    leadingContainer: textField(annotations, CONTAINER_ANNOTATION) || undefined,
    defaultContainer: textField(annotations, DEFAULT_CONTAINER_ANNOTATION) || undefined,
    unreadySince: unreadySince(status),
    containers: [
      ...objectsIn(spec, 'containers'),
      ...sidecars,
      ...objectsIn(spec, 'ephemeralContainers'),
    ].map((container) => decodeContainer(container, statuses)),
  };
}

/** Maximum characters of a hostname. For a longer Pod name, the kubelet truncates the hostname. */
const LONGEST_HOSTNAME = 63;

/** Returns the hostname that a Pod with this name has if its spec sets none and the Pod is not on the host network. */
export function shortHostname(podName: string): string {
  return podName.slice(0, LONGEST_HOSTNAME).replace(/[-.]+$/, '');
}

/**
 * Returns the time when the condition ContainersReady became False; undefined if the condition is not False, or if the
 * time is unknown. Does not read the condition Ready, because other programs can change Ready with readiness gates.
 */
function unreadySince(status: JsonObject): bigint | undefined {
  const condition = objectsIn(status, 'conditions').find(({ type }) => type === 'ContainersReady');
  return condition?.['status'] === 'False' ? timeIn(condition, 'lastTransitionTime') : undefined;
}

function decodeContainer(container: JsonObject, statuses: readonly JsonObject[]): PodContainer {
  const name = commonText(textField(container, 'name') ?? '', undefined);
  const status = statuses.find((one) => one['name'] === name) ?? {};
  const { state, lastState } = status;
  const running = isJsonObject(state) && isJsonObject(state['running']) ? state['running'] : undefined;
  const ended = [state, lastState].flatMap((one) => {
    const terminated = isJsonObject(one) ? one['terminated'] : undefined;
    return isJsonObject(terminated) ? [endedInstance(terminated)] : [];
  });
  return { name, running: running && instanceOf(textField(status, 'containerID') ?? '', running), ended };
}

function instanceOf(id: string, fields: JsonObject): ContainerInstance {
  return { id, startedAt: timeIn(fields, 'startedAt') };
}

function endedInstance(fields: JsonObject): EndedInstance {
  return {
    ...instanceOf(textField(fields, 'containerID') ?? '', fields),
    finishedAt: timeIn(fields, 'finishedAt'),
    reason: textField(fields, 'reason') ?? '',
  };
}

/** Returns a time; undefined if it is absent or unknown. For an unknown time, the kubelet writes the Unix epoch. */
function timeIn(fields: JsonObject, name: string): bigint | undefined {
  const time = timeField(fields, name);
  return time === undefined || time <= 0n ? undefined : time;
}
