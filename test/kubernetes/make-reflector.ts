import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import {
  Reflector,
  type ReflectorErrorContext,
  type ReflectorEvent,
  type ReflectorObservation,
  type ReflectorOptions,
} from '../../src/kubernetes/reflector.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A reflector with a record of its events. */
export interface RecordedReflector {
  readonly reflector: Reflector<KubernetesObject>;
  readonly clock: VirtualClock;
  /** Like `added default/a@1`. */
  readonly events: string[];
  readonly fullEvents: ReflectorEvent<KubernetesObject>[];
  readonly errors: { readonly error: unknown; readonly context: ReflectorErrorContext }[];
  readonly observations: ReflectorObservation[];
}

/** A reflector of raw objects on a virtual clock. */
export function makeReflector(
  client: KubernetesClient,
  options: Partial<ReflectorOptions<KubernetesObject>> = {},
): RecordedReflector {
  const clock = new VirtualClock();
  const record: Omit<RecordedReflector, 'reflector'> = {
    clock,
    events: [],
    fullEvents: [],
    errors: [],
    observations: [],
  };
  const reflector = new Reflector<KubernetesObject>({
    client,
    clock,
    path: '/apis/coordination.k8s.io/v1/leases',
    decode: (raw) => raw,
    handler: (event) => {
      record.fullEvents.push(event);
      record.events.push(`${event.type} ${nameState(event.object)}`);
    },
    onError: (error, context) => record.errors.push({ error, context }),
    observe: (observation) => record.observations.push(observation),
    ...options,
  });
  return { reflector, ...record };
}

/** Like `default/a@1`. */
export function nameState({ metadata }: KubernetesObject): string {
  const { namespace, name, resourceVersion } = metadata;
  return `${namespace ? `${namespace}/` : ''}${name}@${resourceVersion}`;
}
