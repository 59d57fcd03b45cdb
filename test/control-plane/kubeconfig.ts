import { writeFile } from 'node:fs/promises';
import type { ApiAccess } from './api-request.ts';

/** Writes a kubeconfig with one context, `access`, readable only by its owner. JSON is valid YAML. */
export async function writeKubeconfig(path: string, access: ApiAccess): Promise<string> {
  const name = 'control-plane';
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [
      {
        name,
        cluster: {
          server: access.url,
          'certificate-authority-data': Buffer.from(access.ca).toString('base64'),
        },
      },
    ],
    users: [{ name, user: { token: access.token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  };
  await writeFile(path, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
  return path;
}
