import type { Reaper } from '../../control-plane/reaper.ts';
import { type ServerProcess, startServer } from '../../control-plane/server-process.ts';
import { type Container, type Pod, podField } from './pod.ts';
import type { PodPlace } from './pod-volumes.ts';

/** What an image holds, as much as a process needs of it. */
export interface Image {
  /** What it starts with: a program and its first arguments. */
  readonly entrypoint: readonly string[];
  /** The folder in which programs are found by their names. */
  readonly programs: string;
}

/** What the process of a container is started with. */
export interface ContainerSite extends PodPlace {
  readonly image: Image;
  /** The folder of each volume, by its name. */
  readonly volumes: ReadonlyMap<string, string>;
  /** A file to be found as /etc/hosts. */
  readonly hostsFile: string;
  readonly logFile: string;
  /** Where the API server is, as in-cluster clients look for it. */
  readonly apiServer: { readonly host: string; readonly port: string };
  readonly reaper: Reaper;
}

// In a mount namespace of its own, so that the program finds its volumes, its Services and its name where it would in a
// container. It takes the place of the shell: signals are for it.
const script = `
set -e
echo "$HOSTNAME" > /proc/sys/kernel/hostname
mount --bind "$1" /etc/hosts
mount -t tmpfs tmpfs /run
shift
while [ "$1" != -- ]; do
  mkdir -p "$2"
  mount --bind "$1" "$2"
  shift 2
done
shift
exec "$@"
`;

/** Starts a container's program as a process of this machine. @throws Error for what cannot be had in that way. */
export function startContainer(pod: Pod, container: Container, site: ContainerSite): ServerProcess {
  const mounts = (container.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const folder = site.volumes.get(name);
    if (folder === undefined)
      throw new Error(`${container.name} mounts the volume ${name}, which is missing`);
    // Other folders would have to be made in the machine's own file system.
    if (!/^\/(?:var\/)?run\/|^\/tmp$/.test(mountPath)) {
      throw new Error(`the process kubelet mounts nothing at ${mountPath}`);
    }
    return [folder, mountPath];
  });
  for (const probe of [container.livenessProbe, container.readinessProbe]) {
    if (probe && !probe.httpGet) throw new Error('the process kubelet probes by HTTP only');
  }
  const program = [...(container.command ?? site.image.entrypoint), ...(container.args ?? [])];
  return startServer(
    {
      name: `${pod.metadata.name}/${container.name}`,
      path: 'unshare',
      args: [
        ...['--mount', '--uts', '--propagation=private', 'sh', '-c', script, 'container'],
        ...[site.hostsFile, ...mounts, '--'],
        ...program.map((argument) => onOwnAddress(argument, site.podIp)),
      ],
      logFile: site.logFile,
      env: environment(pod, container, site),
    },
    site.reaper,
  );
}

/** All pods share this machine's network: one that wants to listen on every address gets its own. */
function onOwnAddress(argument: string, podIp: string): string {
  return argument.replace(/^(--[a-z-]+=)?(?:0\.0\.0\.0|\[::\]):(?=\d+$)/, `$1${podIp}:`);
}

function environment(pod: Pod, container: Container, site: ContainerSite): Record<string, string> {
  const given = (container.env ?? []).map(({ name, value = '', valueFrom }) => {
    const { fieldRef } = valueFrom ?? {};
    if (valueFrom && !fieldRef) throw new Error(`the process kubelet does not know where ${name} is from`);
    const text = fieldRef ? podField(pod, site.podIp, site.nodeName, fieldRef.fieldPath) : value;
    return [name, onOwnAddress(text, site.podIp)];
  });
  return {
    PATH: `${site.image.programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
    HOSTNAME: pod.spec.hostNetwork ? site.nodeName : pod.metadata.name,
    KUBERNETES_SERVICE_HOST: site.apiServer.host,
    KUBERNETES_SERVICE_PORT: site.apiServer.port,
    ...Object.fromEntries(given),
  };
}
