import type { Reaper } from '../../control-plane/reaper.ts';
import { type ServerProcess, startServer } from '../../control-plane/server-process.ts';
import { type Container, type Pod, podField } from './pod.ts';
import type { PodPlace } from './pod-volumes.ts';

/** The parts of an image that a process needs. */
export interface Image {
  /** Its entrypoint: a program and its first arguments. */
  readonly entrypoint: readonly string[];
  /** The folder in which programs are found by name. */
  readonly programs: string;
  /** Folders of this machine, by their paths in the image. */
  readonly folders?: Readonly<Record<string, string>>;
}

/** The parameters of a container's process. */
export interface ContainerSite extends PodPlace {
  readonly image: Image;
  /** The folder of each volume, by its name. */
  readonly volumes: ReadonlyMap<string, string>;
  /** The file that it sees as /etc/hosts. */
  readonly hostsFile: string;
  /** An empty folder for its own root. */
  readonly rootFolder: string;
  readonly logFile: string;
  /** The address of the API server, as in-cluster clients look for it. */
  readonly apiServer: { readonly host: string; readonly port: string };
  readonly reaper: Reaper;
}

// In its own mount namespace, with a root that has all of this machine's folders, so that the program finds its
// volumes, its Services and its name as in a container. It replaces the shell, so that it gets the signals.
const script = `
set -e
echo "$HOSTNAME" > /proc/sys/kernel/hostname
root=$1
shift
mount -t tmpfs tmpfs "$root"
for folder in /*; do
  if [ -L "$folder" ]; then cp -P "$folder" "$root"
  elif [ -d "$folder" ]; then mkdir "$root$folder" && mount --rbind "$folder" "$root$folder"
  fi
done
exec chroot "$root" sh -c "$0" container "$@"
`;

const scriptInside = `
set -e
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

/**
 * Starts a container's program as a process of this machine.
 * @throws Error for features that this does not support
 */
export function startContainer(pod: Pod, container: Container, site: ContainerSite): ServerProcess {
  const folders = Object.entries(site.image.folders ?? {}).flatMap(([path, folder]) => [folder, path]);
  const mounts = (container.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const folder = site.volumes.get(name);
    if (folder === undefined)
      throw new Error(`${container.name} mounts the volume ${name}, which is missing`);
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
        ...['--mount', '--uts', '--propagation=private', 'sh', '-c', script, scriptInside],
        ...[site.rootFolder, site.hostsFile, ...folders, ...mounts, '--'],
        ...program.map((argument) => onOwnAddress(argument, site.podIp)),
      ],
      logFile: site.logFile,
      env: environment(pod, container, site),
    },
    site.reaper,
  );
}

/**
 * All pods share this machine's network: a pod that listens on every address gets its own address, and its containers
 * use their own loopback address among each other.
 */
function onOwnAddress(text: string, podIp: string): string {
  return text
    .replace(/^(--[a-z-]+=)?(?:0\.0\.0\.0|\[::\]):(?=\d+$)/, `$1${podIp}:`)
    .replace(/^(--[a-z-]+=)?(http:\/\/)?127\.0\.0\.1:(?=\d+)/, `$1$2${podIp.replace(/^\d+/, '127')}:`);
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
