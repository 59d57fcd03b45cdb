import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { kubeconfigText } from '../../src/apiserver/access/client-credentials.ts';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded/embedded-site.ts';
import { eventually } from './coordinator.ts';
import type { LeadProgramOptions, LeadProgramReport } from './lead-program.ts';
import { Ledger } from './ledger.ts';
import { type ParticipateProcess, startParticipate } from './participate-process.ts';

/** A program beside a sidecar, in its own process. */
export interface LeadProgram {
  readonly name: string;
  readonly reports: readonly LeadProgramReport[];
  /** The first report of a kind since `from`, in milliseconds since the Unix epoch, past or future. */
  reported(event: LeadProgramReport['event'], from?: number): Promise<LeadProgramReport>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves when the process has exited. */
  readonly ended: Promise<unknown>;
}

/** An embedded server with a coordinator in this process. */
export interface LeadSite {
  /** The members of the election of one Lease. */
  stage(lease: string): LeadStage;
  stop(): Promise<void>;
}

/** Processes as in pods: sidecars, and programs beside them. */
export interface LeadStage {
  readonly ledger: Ledger;
  /** All holders of the Lease so far, in order. */
  readonly holders: () => readonly string[];
  readonly transitions: () => number;
  /** The last renewal by this holder, in milliseconds since the Unix epoch. */
  readonly renewedAt: (holder: string) => number;
  readonly candidates: () => Promise<readonly string[]>;
  startSidecar(name: string, args?: readonly string[]): ParticipateProcess;
  startProgram(
    sidecar: ParticipateProcess,
    options: Pick<LeadProgramOptions, 'name'> & Partial<LeadProgramOptions>,
  ): Promise<LeadProgram>;
  /** Kills all of its processes. */
  stop(): Promise<void>;
}

export async function startLeadSite(): Promise<LeadSite> {
  const site = await startEmbeddedSite({ leaseCandidateVersions: [CUSTOM_API_VERSION] });
  const directory = mkdtempSync(join(tmpdir(), 'lead-'));
  const kubeconfig = join(directory, 'kubeconfig');
  const { url: server, adminToken: token, caFile } = site.cluster;
  writeFileSync(kubeconfig, kubeconfigText({ server, ca: readFileSync(caFile, 'utf8'), token }));
  return {
    stage: (lease) => stageOn(site, { lease, kubeconfig, ledger: join(directory, `ledger-${lease}`) }),
    async stop() {
      await site.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

interface StagePaths {
  readonly lease: string;
  readonly kubeconfig: string;
  readonly ledger: string;
}

function stageOn({ leases, cluster }: EmbeddedSite, { lease, kubeconfig, ledger }: StagePaths): LeadStage {
  const started = new Set<Pick<LeadProgram, 'signal' | 'ended'>>();
  const keep = <T extends Pick<LeadProgram, 'signal' | 'ended'>>(one: T): T => {
    started.add(one);
    void one.ended.then(() => started.delete(one));
    return one;
  };
  return {
    ledger: new Ledger(ledger),
    holders() {
      const all = leases.history('default', lease).map(({ object }) => object.spec.holderIdentity ?? '');
      return all.filter((holder, index) => holder !== all[index - 1]);
    },
    transitions: () => leases.current('default', lease)?.spec.leaseTransitions ?? 0,
    renewedAt(holder) {
      const last = leases
        .history('default', lease)
        .findLast(({ object }) => object.spec.holderIdentity === holder);
      return Date.parse(last?.object.spec.renewTime ?? '');
    },
    async candidates() {
      const path = `/apis/${CUSTOM_API_VERSION}/namespaces/default/leasecandidates`;
      const { items } = await cluster.request<CandidateList>('GET', path);
      return items.filter(({ spec }) => spec.leaseName === lease).map(({ metadata }) => metadata.name);
    },
    startSidecar: (name, args = []) =>
      keep(
        startParticipate(kubeconfig, [
          ...[lease, '--identity', name, '--lead-by-connection', '--listen', '127.0.0.1:0'],
          ...['--lease-duration', '6s', '--renew-deadline', '4s', '--retry-period', '1s', ...args],
        ]),
      ),
    async startProgram(sidecar, options) {
      const { listen } = await sidecar.logged('Takes part in the election');
      const at = listen as { host: string; port: number };
      return keep(spawnProgram({ ledger, at, stopMs: 0, isDeaf: false, ...options }));
    },
    async stop() {
      const ended = [...started].map((one) => one.ended);
      for (const one of started) one.signal('SIGKILL');
      await Promise.all(ended);
    },
  };
}

interface CandidateList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly leaseName: string };
  }[];
}

function spawnProgram(options: LeadProgramOptions): LeadProgram {
  const script = new URL('./lead-program.ts', import.meta.url).pathname;
  const child: ChildProcess = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // A crashed test must leave no process behind.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const reports: LeadProgramReport[] = [];
  if (child.stdout)
    createInterface(child.stdout).on('line', (line) => reports.push(JSON.parse(line) as LeadProgramReport));
  return {
    name: options.name,
    reports,
    reported: (event, from = 0) =>
      eventually(
        () => reports.find((one) => one.event === event && one.at >= from),
        `${options.name} ${event}, not only ${JSON.stringify(reports)}`,
        40_000,
        5,
      ),
    signal: (signal) => {
      child.kill(signal);
    },
    ended: once(child, 'exit'),
  };
}
