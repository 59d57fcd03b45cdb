import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { kubeconfigText } from '../../../src/apiserver/access/client-credentials.ts';
import { CUSTOM_API_VERSION } from '../../../src/coordination/candidate-sources.ts';
import type { WatchedLease } from '../../control-plane/watched-objects.ts';
import { eventually } from '../../e2e/coordinator.ts';
import { Ledger } from '../../e2e/ledger.ts';
import { type ParticipateProcess, startParticipate } from '../../e2e/participate-process.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../../embedded/embedded-site.ts';
import type { LeadProgramOptions, LeadProgramReport } from './lead-program.ts';

/** The Lease of all pods. */
const LEASE = 'invoices';

/** A program beside a sidecar, as a process of its own. */
export interface LeadProgram {
  readonly name: string;
  readonly reports: readonly LeadProgramReport[];
  /** The first report of a kind since `from`, in milliseconds since the Unix epoch; be it past or still to come. */
  reported(event: LeadProgramReport['event'], from?: number): Promise<LeadProgramReport>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves when the process has ended. */
  readonly ended: Promise<unknown>;
}

/** An embedded server with a coordinator in this process, and processes as in pods: sidecars, and programs beside them. */
export interface LeadSite {
  readonly site: EmbeddedSite;
  readonly ledger: Ledger;
  /** A directory for sockets and files. */
  readonly directory: string;
  readonly lease: () => WatchedLease | undefined;
  readonly candidates: () => Promise<readonly string[]>;
  startSidecar(name: string, args?: readonly string[]): ParticipateProcess;
  startProgram(
    sidecar: ParticipateProcess,
    options: Pick<LeadProgramOptions, 'name'> & Partial<LeadProgramOptions>,
  ): Promise<LeadProgram>;
  stop(): Promise<void>;
}

export async function startLeadSite(): Promise<LeadSite> {
  const site = await startEmbeddedSite({ leaseCandidateVersions: [CUSTOM_API_VERSION] });
  const directory = mkdtempSync(join(tmpdir(), 'lead-'));
  const kubeconfig = join(directory, 'kubeconfig');
  const { url: server, adminToken: token, caFile } = site.cluster;
  writeFileSync(kubeconfig, kubeconfigText({ server, ca: readFileSync(caFile, 'utf8'), token }));
  const file = join(directory, 'ledger');
  const started = new Set<{ signal(signal: NodeJS.Signals): void; readonly ended: Promise<unknown> }>();
  const keep = <T extends { signal(signal: NodeJS.Signals): void; readonly ended: Promise<unknown> }>(
    one: T,
  ): T => {
    started.add(one);
    void one.ended.then(() => started.delete(one));
    return one;
  };
  return {
    site,
    directory,
    ledger: new Ledger(file),
    lease: () => site.leases.current('default', LEASE),
    async candidates() {
      const path = `/apis/${CUSTOM_API_VERSION}/namespaces/default/leasecandidates`;
      const list = await site.cluster.request<{ items: { metadata: { name: string } }[] }>('GET', path);
      return list.items.map(({ metadata }) => metadata.name);
    },
    startSidecar: (name, args = []) =>
      keep(
        startParticipate(kubeconfig, [
          ...[LEASE, '--identity', name, '--lead-by-connection', '--listen', '127.0.0.1:0'],
          ...['--lease-duration', '6s', '--renew-deadline', '4s', '--retry-period', '1s', ...args],
        ]),
      ),
    async startProgram(sidecar, options) {
      const { listen } = await sidecar.logged('Standing');
      const at = listen as { host: string; port: number };
      return keep(spawnProgram({ ledger: file, at, stopMs: 0, isDeaf: false, ...options }));
    },
    async stop() {
      const ended = [...started].map((one) => one.ended);
      for (const one of started) one.signal('SIGKILL');
      await Promise.all(ended);
      await site.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

function spawnProgram(options: LeadProgramOptions): LeadProgram {
  const script = new URL('./lead-program.ts', import.meta.url).pathname;
  const child: ChildProcess = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // A test that crashes must leave nothing behind.
  process.once('exit', () => child.kill('SIGKILL'));
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
