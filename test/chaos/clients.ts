import { join } from 'node:path';
import { binary } from '../control-plane/binaries.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import { seededRandom } from '../support/seeded-random.ts';
import type { TestedLease } from './cast.ts';
import { BINARY_VERSION, EMULATION_VERSIONS, keyOf, PROGRAMS_PER_LEASE, testedLeases } from './cast.ts';
import type { Link } from './link.ts';
import type { ApiServer } from './servers.ts';
import type { Site } from './site.ts';
import type { SupervisedProcess } from './supervised-process.ts';

/** A coordinator or a candidate, with its own link to an API server. */
export interface Client {
  readonly process: SupervisedProcess;
  readonly link: Link;
}

/** A candidate for a Lease. */
export interface Program extends Client {
  readonly lease: TestedLease;
  /** Of its present process. */
  readonly emulationVersion: () => string;
}

interface Connection {
  readonly link: Link;
  readonly kubeconfig: string;
}

/** Distributes clients over the API servers by their index. */
async function connect(
  site: Site,
  servers: readonly ApiServer[],
  { index, token, name }: { readonly index: number; readonly token: string; readonly name: string },
): Promise<Connection> {
  const link = await site.link(servers[index % servers.length]?.port ?? 0);
  const access = { ...(await site.accessTo(link.port)), token };
  return { link, kubeconfig: await writeKubeconfig(join(site.work, `${name}.kubeconfig`), access) };
}

/** Starts the coordinators, all with the program `main`. */
export function startCoordinators(
  site: Site,
  servers: readonly ApiServer[],
  main: string,
): Promise<readonly Client[]> {
  return Promise.all(
    site.coordinatorTokens.map(async (token, index) => {
      const name = `coordinator-${index}`;
      const { link, kubeconfig } = await connect(site, servers, { index, token, name });
      let lives = 0;
      const nextLife = () => {
        lives += 1;
        const logFile = join(site.record, `${name}-${lives}.log`);
        const args = [main, 'run', '--kubeconfig', kubeconfig, '--listen=127.0.0.1:0', '--log-level=debug'];
        return { facts: { name }, command: { name, path: process.execPath, logFile, args } };
      };
      return { link, process: site.supervise({ role: 'coordinator', pauseMs: () => 300, nextLife }) };
    }),
  );
}

/**
 * Starts some candidates for each Lease. The seed determines their versions, and when they restart under which name.
 */
export function startPrograms(
  site: Site,
  servers: readonly ApiServer[],
  seed: number,
): Promise<readonly Program[]> {
  const random = seededRandom(seed);
  const places = testedLeases.flatMap((lease, index) =>
    Array.from({ length: PROGRAMS_PER_LEASE }, (_, slot) => ({
      lease,
      // So that each Lease has candidates at both servers.
      index: index + slot,
      name: `${lease.namespace}-${lease.name}-${slot}`,
      random: seededRandom(random() * 2 ** 32),
    })),
  );
  return Promise.all(
    places.map(async (place) => {
      const connection = await connect(site, servers, { ...place, token: site.candidateToken });
      return startProgram(site, { ...place, ...connection, path: await binary('candidate') });
    }),
  );
}

function startProgram(
  site: Site,
  place: Connection & {
    readonly lease: TestedLease;
    readonly name: string;
    readonly random: () => number;
    readonly path: string;
  },
): Program {
  const { lease, link, kubeconfig, random, path } = place;
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = lease.timing;
  let lives = 0;
  let name = '';
  let emulationVersion = '';
  const nextLife = () => {
    lives += 1;
    // Some restart under their old name, like a StatefulSet's pods, others under a new one.
    if (lives === 1 || random() < 0.5) {
      name = `${place.name}-${lives}`;
      emulationVersion = EMULATION_VERSIONS[Math.floor(random() * EMULATION_VERSIONS.length)] ?? '';
    }
    return {
      facts: { name, lease: keyOf(lease), leaseDurationMs },
      command: {
        name,
        path,
        logFile: join(site.record, `candidate-${place.name}-${lives}.log`),
        args: [
          `--kubeconfig=${kubeconfig}`,
          `--namespace=${lease.namespace}`,
          `--lease=${lease.name}`,
          `--name=${name}`,
          `--binary-version=${BINARY_VERSION}`,
          `--emulation-version=${emulationVersion}`,
          `--lease-duration=${leaseDurationMs}ms`,
          `--renew-deadline=${renewDeadlineMs}ms`,
          `--retry-period=${retryPeriodMs}ms`,
        ],
      },
    };
  };
  const process = site.supervise({ role: 'candidate', pauseMs: () => 200 + 5_000 * random(), nextLife });
  return { lease, link, process, emulationVersion: () => emulationVersion };
}
