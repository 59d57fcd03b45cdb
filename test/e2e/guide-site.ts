import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFailed, onTestFinished } from 'vitest';
import { kubeconfigText } from '../../src/apiserver/access/client-credentials.ts';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { runParticipant } from '../../src/processes/participant/participant-process.ts';
import { participateSettings } from '../../src/settings/participate-settings.ts';
import { resolveSettings } from '../../src/settings/settings-table.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded/embedded-site.ts';
import { SimHost } from '../support/make-host.ts';
import { eventually } from './coordinator.ts';

/** A sidecar in this process. */
export interface GuideSidecar {
  readonly address: string;
  readonly identity: string;
  /** Stops it like SIGTERM. Resolves when it has stopped. */
  stop(): Promise<unknown>;
}

/** A program of a guide, in its own process. */
export interface GuideProgram {
  readonly child: ChildProcess;
  /** Its output so far, on both streams. */
  readonly lines: readonly PrintedLine[];
}

/** A line of output, with its time in milliseconds of this process's clock. */
export interface PrintedLine {
  readonly text: string;
  readonly at: number;
}

/** An embedded server with a coordinator, without the feature gate, and programs of a guide. */
export interface GuideSite {
  readonly site: EmbeddedSite;
  readonly folder: string;
  readonly kubeconfig: string;
  /** All holders of a Lease so far, in order; '' for none. */
  holders(lease: string): readonly string[];
  /** Starts a sidecar by which a program leads, at most for the duration of the test. */
  startSidecar(lease: string, flags?: Readonly<Record<string, string>>): Promise<GuideSidecar>;
  /** Starts a program for as long as the test runs at most. It finds the cluster by KUBECONFIG. */
  startProgram(command: readonly string[], env?: Readonly<Record<string, string>>): GuideProgram;
  stop(): Promise<void>;
}

export async function startGuideSite(): Promise<GuideSite> {
  const site = await startEmbeddedSite({ leaseCandidateVersions: [CUSTOM_API_VERSION] });
  const folder = mkdtempSync(join(tmpdir(), 'guide-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const { url: server, adminToken: token, caFile } = site.cluster;
  writeFileSync(kubeconfig, kubeconfigText({ server, ca: readFileSync(caFile, 'utf8'), token }));

  return {
    site,
    folder,
    kubeconfig,
    holders(lease) {
      const all = site.leases.history('default', lease).map(({ object }) => object.spec.holderIdentity ?? '');
      return all.filter((holder, index) => holder !== all[index - 1]);
    },
    async startSidecar(lease, more = {}) {
      const host = new SimHost();
      const flags = { kubeconfig, listen: '127.0.0.1:0', leadByConnection: 'true', identity: lease, ...more };
      const ended = runParticipant(lease, [], resolveSettings(participateSettings, flags, {}), host);
      const stop = () => {
        host.stop();
        return ended;
      };
      onTestFinished(async () => void (await stop()));
      onTestFailed(() => tell(`the sidecar ${flags.identity}`, host.said.out));
      const port = await eventually(
        () => /"listen":\{[^}]*"port":(\d+)/.exec(host.said.out)?.[1],
        'it listens',
      );
      return { address: `127.0.0.1:${port}`, identity: flags.identity, stop };
    },
    startProgram([command = '', ...args], env = {}) {
      const child = spawn(command, args, {
        cwd: folder,
        env: { ...process.env, KUBECONFIG: kubeconfig, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      const lines: PrintedLine[] = [];
      for (const stream of [child.stdout, child.stderr]) {
        createInterface(stream).on('line', (text) => lines.push({ text, at: performance.now() }));
      }
      onTestFailed(() => {
        const texts = lines.map(({ text, at }) => `${Math.round(at)} ms  ${text}`);
        tell(`${command} ${args.join(' ')}, ended with ${child.exitCode}`, texts.join('\n'));
      });
      return { child, lines };
    },
    async stop() {
      await site.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Prints what a part of the site has written. */
function tell(who: string, output: string): void {
  process.stderr.write(`\n${who}:\n${output}\n`);
}
