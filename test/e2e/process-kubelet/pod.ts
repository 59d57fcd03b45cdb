/** The parts of a Pod that the process kubelet supports. */
export interface Pod {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly hostNetwork?: boolean;
    readonly serviceAccountName?: string;
    readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
    readonly terminationGracePeriodSeconds?: number;
    readonly initContainers?: readonly Container[];
    readonly containers: readonly Container[];
    readonly volumes?: readonly Volume[];
  };
  readonly status: { readonly phase: string; readonly conditions?: readonly PodCondition[] };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  /** Default: the pod's. An init container with restartPolicy Always runs beside the others, and ends after them. */
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
}

export interface Probe {
  readonly httpGet?: { readonly path?: string; readonly port: number | string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
}

export interface Volume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly configMap?: NonNullable<ProjectedSource['configMap']>;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly projected?: { readonly sources: readonly ProjectedSource[] };
}

export interface ProjectedSource {
  readonly serviceAccountToken?: {
    readonly path: string;
    readonly audience?: string;
    readonly expirationSeconds?: number;
  };
  readonly configMap?: {
    readonly name: string;
    readonly items?: readonly { readonly key: string; readonly path: string }[];
  };
  readonly downwardAPI?: {
    readonly items: readonly { readonly path: string; readonly fieldRef?: { readonly fieldPath: string } }[];
  };
}

export interface PodCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly lastTransitionTime?: string;
  readonly reason?: string;
}

/** The state of a container. */
export type ContainerState =
  | { readonly waiting: { readonly reason: string; readonly message?: string } }
  | { readonly running: { readonly startedAt: string } }
  | {
      readonly terminated: {
        readonly exitCode: number;
        readonly signal?: number;
        readonly reason: string;
        readonly startedAt: string;
        readonly finishedAt: string;
        readonly containerID: string;
      };
    };

/** The path of a Pod in the API. */
export function podPath({ metadata: { namespace, name } }: Pod): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}

/**
 * Returns a field of a Pod, as `fieldRef` names it.
 * @throws Error for an unsupported field
 */
export function podField(pod: Pod, podIp: string, nodeName: string, fieldPath: string): string {
  const known: Readonly<Record<string, string | undefined>> = {
    'metadata.name': pod.metadata.name,
    'metadata.namespace': pod.metadata.namespace,
    'metadata.uid': pod.metadata.uid,
    'spec.nodeName': nodeName,
    'spec.serviceAccountName': pod.spec.serviceAccountName ?? '',
    'status.podIP': podIp,
  };
  const [, map = '', key = ''] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(fieldPath) ?? [];
  if (map === 'labels' || map === 'annotations') return pod.metadata[map]?.[key] ?? '';
  const value = known[fieldPath];
  if (value === undefined) throw new Error(`the process kubelet does not know the field ${fieldPath}`);
  return value;
}
