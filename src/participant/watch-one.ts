import type { KubernetesClient } from '../kubernetes/client.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { Reflector } from '../kubernetes/reflector.ts';
import type { Clock } from '../support/clock.ts';
import type { TroubleLog } from './participant-log.ts';

/** What is watched, and who is told. Callbacks must not throw. */
export interface OneWatchParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  /** Of all objects of its kind in its namespace. */
  readonly path: string;
  readonly name: string;
  readonly trouble: TroubleLog;
  readonly onChange: (isDeleted: boolean, object: KubernetesObject) => void;
  readonly onSynced?: () => void;
  /** Told after each list whether the object is in it. */
  readonly onListed?: (isThere: boolean) => void;
  /** The watch has begun, for the first time or anew. */
  readonly onStarted?: () => void;
  readonly onNotServed?: () => void;
}

/** A watch of one object: by its name alone, so that a role may be limited to it. It is still to be started. */
export function watchOne({
  path,
  name,
  trouble,
  onChange,
  onListed,
  onStarted,
  ...rest
}: OneWatchParts): Reflector<KubernetesObject> {
  return new Reflector({
    ...rest,
    path,
    query: { fieldSelector: `metadata.name=${name}` },
    decode: (raw) => raw,
    handler: ({ type, object }) => onChange(type === 'deleted', object),
    onError: (error) => trouble.failed(error),
    observe: (observation) => {
      if (observation.type === 'listed') onListed?.(observation.objects > 0);
      if (observation.type !== 'watchStarted') return;
      trouble.ended();
      onStarted?.();
    },
  });
}
