import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Addresses of this machine that belong to one node: its own and those of its pods. */
export interface PodNetwork {
  readonly nodeAddress: string;
  /** An unused address for a pod. */
  nextAddress(): string;
  close(): Promise<void>;
}

// Removes the route when its input ends for any reason, also if its parent is killed.
const script =
  'ip route add local "$0" dev lo || exit 1; echo added; read -r _; ip route del local "$0" dev lo';

/**
 * Makes an unused /24 of 10.0.0.0/8 local to this machine, by one route, so that processes can listen on its
 * addresses. They are not loopback addresses, to which the API server would refuse to proxy requests.
 * @throws Error if that is not allowed: it needs root
 */
export async function openPodNetwork(): Promise<PodNetwork> {
  const { stdout: routes } = await execute('ip', ['route', 'show', 'table', 'local']);
  const prefix = await unusedPrefix(routes);
  const keeper = spawn('sh', ['-c', script, `${prefix}.0/24`], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaints = '';
  keeper.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  keeper.stdin.on('error', () => {});
  const ended = once(keeper, 'close');
  const added = await Promise.race([once(keeper.stdout, 'data'), ended.then(() => undefined)]);
  // Another network of this process has taken it first.
  if (added === undefined && complaints.includes('File exists')) return openPodNetwork();
  if (added === undefined) throw new Error(`no addresses for pods, which needs root: ${complaints.trim()}`);
  let last = 1;
  return {
    nodeAddress: `${prefix}.1`,
    nextAddress() {
      last += 1;
      if (last > 254) throw new Error(`all addresses of ${prefix}.0/24 have been used`);
      return `${prefix}.${last}`;
    },
    async close() {
      keeper.stdin.end();
      await ended;
    },
  };
}

async function unusedPrefix(routes: string): Promise<string> {
  for (let second = 244; second > 100; second -= 1) {
    // By the process id, so that two simultaneous test runs do not try the same ones.
    const prefix = `10.${second}.${process.pid % 256}`;
    if (!routes.includes(` ${prefix}.`)) return prefix;
  }
  throw new Error('no addresses are left for pods: see ip route show table local');
}
