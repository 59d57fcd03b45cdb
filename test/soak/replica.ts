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
/** A suspended replica does not answer. */
const ANSWERS_WITHIN_MS = 5_000;

/** A replica of the coordinator: the program with its default settings, behind a link that can fail. */
export interface Replica {
  readonly name: string;
  readonly process: ServerProcess;
  readonly link: Link;
  readonly inspector: Inspector;
  /** Returns the body that it serves at a path. */
  get(path: string): Promise<string>;
  /** Returns the number of its open file descriptors, by kind. */
  descriptors(): Promise<Readonly<Record<string, number>>>;
  /** Stops it as Kubernetes would. Resolves to its exit code. */
  stop(): Promise<number | null>;
}

interface ReplicaOptions {
  readonly name: string;
  /** Its program: `main.ts` or `main.js`. */
  readonly main: string;
  readonly access: ApiAccess;
  /** The folder of its log, which stays. */
  readonly directory: string;
  /** The folder of files that are deleted with the servers. */
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
      // The inspector is part of Node: the program runs as in production, except that its garbage can be collected.
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
        // Node would wait for the inspector to disconnect.
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

/** On its own connection, so that it does not change the counts. */
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
    // It may be closed in the meantime.
    const target = await readlink(join(folder, descriptor)).catch(() => undefined);
    if (target === undefined) continue;
    const kind = target.startsWith('/') ? 'file' : target.replace(/:?\[\d+\]$/, '');
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}
