import { readdir, readlink } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { Link } from '../chaos/link.ts';
import { until } from '../chaos/until.ts';
import type { ApiAccess } from '../control-plane/api-request.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import type { Reaper } from '../control-plane/reaper.ts';
import { type ServerProcess, startServer, tailOf } from '../control-plane/server-process.ts';
import { Inspector } from './inspector.ts';

const STARTED_WITHIN_MS = 60_000;
/** A frozen one does not answer. */
const ANSWERS_WITHIN_MS = 5_000;

/** A replica of the coordinator: the program itself, with its default settings, behind a link that can be broken. */
export interface Replica {
  readonly name: string;
  readonly process: ServerProcess;
  readonly link: Link;
  readonly inspector: Inspector;
  /** What it serves at a path. */
  get(path: string): Promise<string>;
  /** How many file descriptors it has open, by kind. */
  descriptors(): Promise<Readonly<Record<string, number>>>;
  /** Ends it as Kubernetes would; its exit code. */
  stop(): Promise<number | null>;
}

interface ReplicaOptions {
  readonly name: string;
  /** Its program: `main.ts` or `main.js`. */
  readonly main: string;
  readonly access: ApiAccess;
  /** For its log, which stays. */
  readonly directory: string;
  /** For what is gone with the servers. */
  readonly workDirectory: string;
  readonly reaper: Reaper;
  readonly signal: AbortSignal;
}

export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const { name, main, access, directory, workDirectory, reaper, signal } = options;
  const link = await Link.start(Number(new URL(access.url).port));
  const kubeconfig = join(workDirectory, `${name}.kubeconfig`);
  await writeKubeconfig(kubeconfig, { ...access, url: `https://127.0.0.1:${link.port}` });
  const process = startServer(
    {
      name,
      path: globalThis.process.execPath,
      logFile: join(directory, `${name}.log`),
      // The inspector is Node's own: the program is as it is in production, but that its garbage can be collected.
      args: ['--inspect=127.0.0.1:0', main, 'run', '--kubeconfig', kubeconfig, '--listen', '127.0.0.1:0'],
    },
    reaper,
  );
  const found = (pattern: RegExp) => pattern.exec(process.logs())?.[1];
  const port = () => found(/"listen":\{"host":"127\.0\.0\.1","port":(\d+)\}/);
  try {
    await until(() => process.exit() !== undefined || port() !== undefined, STARTED_WITHIN_MS, signal, name);
    if (process.exit()) throw new Error(`${name} does not start; ${tailOf(process)}`);
    const inspector = await Inspector.connect(found(/(ws:\S+)/) ?? '');
    const url = `http://127.0.0.1:${port()}`;
    return {
      name,
      process,
      link,
      inspector,
      get: (path) => text(`${url}${path}`),
      descriptors: () => descriptorsOf(process.pid),
      async stop() {
        // Node would wait for it to disconnect.
        inspector.close();
        process.kill('SIGCONT');
        process.kill('SIGTERM');
        const { code } = await process.exited;
        link.close();
        return code;
      },
    };
  } catch (error) {
    process.kill('SIGKILL');
    link.close();
    throw error;
  }
}

/** On a connection of its own, so that none of ours is among those that are counted. */
function text(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { agent: false, timeout: ANSWERS_WITHIN_MS }, async (answer) => {
      try {
        resolve((await answer.setEncoding('utf8').toArray()).join(''));
      } catch (error) {
        reject(error);
      }
    });
    asked.once('timeout', () => asked.destroy(new Error(`${url}: no answer`)));
    asked.once('error', reject);
  });
}

async function descriptorsOf(pid: number): Promise<Readonly<Record<string, number>>> {
  const folder = `/proc/${pid}/fd`;
  const counts: Record<string, number> = {};
  for (const descriptor of await readdir(folder)) {
    // It may be closed meanwhile.
    const target = await readlink(join(folder, descriptor)).catch(() => undefined);
    if (target === undefined) continue;
    const kind = target.startsWith('/') ? 'file' : target.replace(/:?\[\d+\]$/, '');
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}
