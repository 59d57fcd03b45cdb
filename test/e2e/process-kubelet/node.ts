/** A Node as a kubelet registers it: ready, and with enough room for all tests. */
export function nodeObject(
  name: string,
  labels: Readonly<Record<string, string>>,
  address: string,
  kubeletPort: number,
): object {
  const now = new Date().toISOString();
  const condition = (type: string, status: 'True' | 'False', reason: string) => ({
    type,
    status,
    reason,
    message: 'a stand-in for a node',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  const resources = { cpu: '16', memory: '64Gi', 'ephemeral-storage': '64Gi', pods: '110' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        ...labels,
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
      },
    },
    status: {
      capacity: resources,
      allocatable: resources,
      conditions: [
        condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory'),
        condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure'),
        condition('PIDPressure', 'False', 'KubeletHasSufficientPID'),
        condition('Ready', 'True', 'KubeletReady'),
      ],
      // Without a host name, which the API server would prefer but cannot resolve.
      addresses: [{ type: 'InternalIP', address }],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
      nodeInfo: {
        machineID: name,
        systemUUID: name,
        bootID: name,
        kernelVersion: 'unknown',
        osImage: 'processes',
        containerRuntimeVersion: 'process://1',
        kubeletVersion: 'v1.36.3',
        kubeProxyVersion: '',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
    },
  };
}
