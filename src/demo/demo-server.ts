import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateCertificate } from '../apiserver/access/certificates.ts';
import { kubeconfigText } from '../apiserver/access/kubeconfig.ts';
import { generateToken } from '../apiserver/access/token-file.ts';
import { startApiServer } from '../apiserver/api-server.ts';
import type { Host } from '../host.ts';

/** The server of the demo, with a way in. */
export interface DemoServer {
  readonly url: string;
  /** Path of a kubeconfig that may do everything. */
  readonly kubeconfig: string;
  /** Ends it and removes all that it left on the disk. */
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

/**
 * Starts a coordination API server on a free port of this machine: nothing of it is left when it is closed, or the process
 * ends.
 *
 * @param onError told of what should never happen.
 */
export async function startDemoServer(host: Host, onError: (error: unknown) => void): Promise<DemoServer> {
  const { clock } = host;
  const { ca, cert, key } = await generateCertificate([HOST], clock);
  const token = generateToken(randomBytes(16));
  const server = await startApiServer({
    clock,
    listen: { host: HOST, port: 0 },
    tls: { cert, key },
    tokens: [{ token, user: { name: 'demo', groups: [] }, rules: 'admin' }],
    onError,
  });
  // Nobody else can look into such a directory.
  const directory = mkdtempSync(join(tmpdir(), 'cle-demo-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const forgetExit = host.beforeExit(remove);
  const kubeconfig = join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigText({ server: server.url, ca, token }), { mode: 0o600 });
  return {
    url: server.url,
    kubeconfig,
    async close() {
      await server.close();
      remove();
      forgetExit();
    },
  };
}
