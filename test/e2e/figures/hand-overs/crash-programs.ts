import { dirname } from 'node:path';
import { binary } from '../../../control-plane/binaries.ts';
import type { Image } from '../../process-kubelet/container-process.ts';
import { ourImage } from '../../process-kubelet.ts';

/** The timing of an elector, in seconds. */
export interface ElectorTimes {
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
}

/** client-go's defaults, and those of OpenShift's operators. */
export const CRASH_TIMES: readonly ElectorTimes[] = [
  { leaseDuration: 15, renewDeadline: 10, retryPeriod: 2 },
  { leaseDuration: 137, renewDeadline: 107, retryPeriod: 26 },
];

/** What runs in a container: a new leader writes a line into the file LEDGER, in the format of the operator. */
export interface CrashProgram {
  readonly name: string;
  readonly title: string;
  readonly image: string;
  readonly args: (lease: string, times: ElectorTimes) => readonly string[];
}

/** The namespace of all Pods. It asks for crash evidence. */
export const CRASH_NAMESPACE = 'crashed';

/** The times as options; client-go's commands spell them as `participate` does. */
function timeOptions({ leaseDuration, renewDeadline, retryPeriod }: ElectorTimes): readonly string[] {
  return [
    `--lease-duration=${leaseDuration}s`,
    `--renew-deadline=${renewDeadline}s`,
    `--retry-period=${retryPeriod}s`,
  ];
}

// The command ends with the wrapper: these containers have no process namespace of their own.
const writeLine = 'echo "0 $POD_NAME $$ $(date +%s%N)" >> "$LEDGER"; exec tail --pid=$PPID -f /dev/null';

export const crashPrograms: readonly CrashProgram[] = [
  {
    name: 'wrapper',
    title: 'a container under the wrapper',
    image: 'coordinated-leader-election:bench',
    args: (lease, times) => ['participate', lease, ...timeOptions(times), '--', 'sh', '-c', writeLine],
  },
  {
    name: 'worker',
    title: 'a Node worker with the library',
    image: 'worker:bench',
    args: (lease, times) => [lease, JSON.stringify(times)],
  },
  {
    name: 'operator',
    title: 'an ordinary operator in Go',
    image: 'operator:bench',
    args: (lease, times) => [
      ...['-plain', `-namespace=${CRASH_NAMESPACE}`, `-lease=${lease}`, '-interval=1h'],
      ...timeOptions(times),
    ],
  },
];

/** controller-runtime makes such an identity. */
const asManager = 'exec "$0" -name="$HOSTNAME"_"$(cat /proc/sys/kernel/random/uuid)" -ledger="$LEDGER" "$@"';

/** What the images of {@link crashPrograms} hold. */
export async function crashImages(): Promise<(name: string) => Image | undefined> {
  const operator = await binary('operator');
  const worker = new URL('./crash-worker.ts', import.meta.url).pathname;
  const images: Readonly<Record<string, Image>> = {
    'worker:bench': { entrypoint: [process.execPath, worker], programs: dirname(process.execPath) },
    'operator:bench': { entrypoint: ['sh', '-c', asManager, operator], programs: dirname(operator) },
  };
  return (name) => images[name] ?? ourImage(name);
}
