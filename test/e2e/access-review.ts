import { readFile } from 'node:fs/promises';
import { type ApiAccess, apiRequest } from '../control-plane/api-request.ts';
import type { CoordinationServer } from '../control-plane/coordination-plane.ts';

/** Access to a server as the user of a kubeconfig. */
export async function accessBy(server: CoordinationServer, kubeconfig: string): Promise<ApiAccess> {
  const { users } = JSON.parse(await readFile(kubeconfig, 'utf8')) as {
    readonly users: readonly { readonly user: { readonly token: string } }[];
  };
  const ca = await readFile(server.caFile, 'utf8');
  return { url: server.url, ca, token: users[0]?.user.token ?? '' };
}

/**
 * Returns the status of an access review, such as a SelfSubjectAccessReview.
 * @throws Error if the server does not answer the question
 */
export async function review<T>(access: ApiAccess, kind: string, spec: object): Promise<T> {
  const path = `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`;
  const body = { apiVersion: 'authorization.k8s.io/v1', kind, spec };
  const { status, text } = await apiRequest(access, 'POST', path, body);
  if (status !== 201) throw new Error(`POST ${path}: ${status} ${text.trim()}`);
  return (JSON.parse(text) as { readonly status: T }).status;
}
