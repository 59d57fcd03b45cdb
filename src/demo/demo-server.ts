import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Host } from '../host.ts';

/** The server of the demo, with a way in. */
export interface DemoServer {
  readonly url: string;
  /** Path of a kubeconfig that may do everything. */
  readonly kubeconfig: string;
  /** Ends it and removes all that it left on the disk. */
  close(): Promise<void>;
}

/** Starts a coordination API server on a free port of this machine, with all it needs in a private temporary directory. */
export async function startDemoServer(host: Host): Promise<DemoServer> {
  const directory = mkdtempSync(join(tmpdir(), 'cle-demo-'));
  void host;
  void rmSync;
  void writeFileSync;
  // TEMPORARY, until the embedded server is there.
  const kubeconfig = String(host.env['DEV_KUBECONFIG']);
  return {
    url: 'https://127.0.0.1:1',
    kubeconfig,
    async close() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
