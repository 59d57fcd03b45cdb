import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Cluster, User } from '../../src/kubernetes/cluster-config.ts';
import { loadKubeConfig } from '../../src/kubernetes/kubeconfig.ts';
import { readPlainKubeconfig } from '../../src/kubernetes/plain-kubeconfig.ts';
import { StaticConfig } from '../../src/kubernetes/static-config.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  for (const name of ['ca.crt', 'client.crt', 'client.key']) writeFileSync(join(directory, name), name);
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

const data = (text: string) => Buffer.from(text).toString('base64');

function yamlOf(cluster: string, user: string, more = ''): string {
  return `apiVersion: v1
kind: Config
preferences: {}
clusters:
- name: one
  cluster: { server: "https://one.test:6443/", ${cluster} }
users:
- name: admin
  user: { ${user} }
contexts:
- name: admin@one
  context: { cluster: one, user: admin, namespace: apps }
current-context: admin@one
${more}`;
}

const plain = [
  { name: 'a token', text: yamlOf(`certificate-authority-data: ${data('CA')}`, 'token: abc') },
  {
    name: 'files',
    text: yamlOf('certificate-authority: ca.crt', 'client-certificate: client.crt, client-key: client.key'),
  },
  {
    name: 'a certificate',
    text: yamlOf(
      'tls-server-name: api.test',
      `client-certificate-data: ${data('cert')}, client-key-data: ${data('key')}`,
    ),
  },
  { name: 'a server that is not verified', text: yamlOf('insecure-skip-tls-verify: true', 'token: abc') },
  { name: 'what an extension says', text: yamlOf('extensions: [{ name: minikube }]', 'token: abc') },
  { name: 'nothing but a server', text: yamlOf('', '') },
];

test.each(plain)('with $name it comes to what client-node makes of it', async ({ text }) => {
  const file = join(directory, 'config');
  writeFileSync(file, text);
  const theirs = new KubeConfig();
  theirs.loadFromFile(file);
  const ours = loadKubeConfig({ kubeconfig: file, env: {} });
  expect(ours).toBeInstanceOf(StaticConfig);
  expect(ours.getCurrentCluster()).toMatchObject(defined(theirs.getCurrentCluster()));
  expect(ours.getCurrentUser()).toMatchObject(defined(theirs.getCurrentUser()));
  expect(ours.getContextObject('admin@one')).toEqual(theirs.getContextObject('admin@one'));
  expect([ours.getCurrentContext(), ours.getContextObject('other')]).toEqual(['admin@one', null]);
  const [wanted, got]: RequestOptions[] = [{}, {}];
  await theirs.applyToHTTPSOptions(wanted ?? {});
  await ours.applyToHTTPSOptions(got ?? {});
  const { agent: _, headers = {}, ...options } = wanted ?? {};
  expect(got).toEqual({ ...options, ...(Object.keys(headers).length > 0 && { headers }) });
  const { ca, cert, key, rejectUnauthorized, servername } = wanted ?? {};
  const tls = { ca, cert, key, rejectUnauthorized, servername };
  const cluster = theirs.getCurrentCluster();
  expect(ours.createDispatcherOptions(cluster, tls)).toEqual(theirs.createDispatcherOptions(cluster, tls));
});

/** Without the fields that are null or undefined, which stand for those that are not there. */
function defined(fields: Cluster | User | null): object {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value != null));
}

describe('leaves to client-node', () => {
  test.each([
    { name: 'a credential plugin', text: yamlOf('', 'exec: { command: login }') },
    { name: 'an auth provider', text: yamlOf('', 'auth-provider: { name: oidc }') },
    { name: 'a password', text: yamlOf('', 'username: a, password: b') },
    { name: 'another user to act as', text: yamlOf('', 'token: abc, as: b') },
    { name: 'a proxy', text: yamlOf('proxy-url: "http://proxy.test"', 'token: abc') },
    { name: 'a token that is no text', text: yamlOf('', 'token: 123') },
    { name: 'a cluster without a server', text: 'clusters: [{ name: one, cluster: {} }]' },
    { name: 'a cluster without a name', text: 'clusters: [{ cluster: { server: "https://one.test" } }]' },
    { name: 'clusters that are no list', text: 'clusters: one' },
    { name: 'a text', text: 'nonsense' },
    { name: 'what is no YAML', text: 'clusters: [' },
  ])('$name', ({ text }) => {
    expect(readPlainKubeconfig(text, directory)).toBeUndefined();
  });
});
