import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateCertificate } from '../apiserver/access/certificates.ts';
import { generateToken, kubeconfigText } from '../apiserver/access/client-credentials.ts';
import { startApiServer } from '../apiserver/api-server.ts';
import { withContext } from '../support/files.ts';
import type { Host } from '../support/host.ts';

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
 * @throws {Error} that names the temporary directory, when nothing can be kept there.
 */
export async function startDemoServer(host: Host, onError: (error: unknown) => void): Promise<DemoServer> {
  const { clock } = host;
  // Nobody else can look into such a directory.
  const directory = withContext(`The temporary directory ${tmpdir()}`, () =>
    mkdtempSync(join(tmpdir(), 'cle-demo-')),
  );
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const forgetExit = host.beforeExit(remove);
  const { ca, cert, key } = await generateCertificate([HOST], clock);
  const token = generateToken(randomBytes(16));
  const server = await startApiServer({
    clock,
    listen: { host: HOST, port: 0 },
    tls: { cert, key },
    tokens: [{ token, user: { name: 'demo', groups: [] }, rules: 'admin' }],
    onError,
  });
  const close = async () => {
    await server.close();
    remove();
    forgetExit();
  };
  const kubeconfig = join(directory, 'kubeconfig');
  try {
    const text = kubeconfigText({ server: server.url, ca, token });
    withContext(kubeconfig, () => writeFileSync(kubeconfig, text, { mode: 0o600 }));
  } catch (error) {
    // A server that goes on to listen would keep the process from its end.
    await close();
    throw error;
  }
  return { url: server.url, kubeconfig, close };
}
