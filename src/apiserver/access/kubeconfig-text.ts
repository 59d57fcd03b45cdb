import { stringify } from 'yaml';

export interface KubeconfigParts {
  /** `https://127.0.0.1:6443` */
  readonly server: string;
  /** PEM of whoever vouches for the server's certificate; absent for plain HTTP, or where everybody trusts it anyway. */
  readonly ca?: string;
  readonly token: string;
}

const NAME = 'coordination';

/** The text of a kubeconfig, with which kubectl and every client of Kubernetes can use this server. */
export function kubeconfigText({ server, ca, token }: KubeconfigParts): string {
  const authority = ca === undefined ? {} : { 'certificate-authority-data': base64(ca) };
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: NAME, cluster: { server, ...authority } }],
      users: [{ name: NAME, user: { token } }],
      contexts: [{ name: NAME, context: { cluster: NAME, user: NAME } }],
      'current-context': NAME,
    },
    // Certificates are long, and none of these readers minds.
    { lineWidth: 0 },
  );
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
