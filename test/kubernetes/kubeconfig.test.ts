import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KubeConfigError, loadKubeConfig, NoClusterError } from '../../src/kubernetes/kubeconfig.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** A kubeconfig with one cluster, one user and one context, all of one name. */
function kubeconfigOf(
  name: string,
  fields: { server?: string; user?: string; current?: boolean } = {},
): string {
  const { server = `https://${name}.test`, user = name, current = true } = fields;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority': 'ca.crt' } }],
    users: [{ name, user: { token: `token-of-${name}` } }],
    contexts: [{ name, context: { cluster: name, ...(user && { user }), namespace: 'default' } }],
    ...(current && { 'current-context': name }),
  });
}

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

/** An environment whose home is empty. */
function environment(fields: Record<string, string> = {}): Record<string, string> {
  return { HOME: directory, ...fields };
}

function makeServiceAccount(): string {
  const serviceAccountDirectory = join(directory, 'serviceaccount');
  mkdirSync(serviceAccountDirectory);
  for (const name of ['token', 'ca.crt']) writeFileSync(join(serviceAccountDirectory, name), name);
  writeFileSync(join(serviceAccountDirectory, 'namespace'), 'kube-system\n');
  return serviceAccountDirectory;
}

const inPod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

describe('where the configuration comes from', () => {
  test('is the file given, before all else; its relative paths are relative to it', () => {
    const kubeconfig = file('given', kubeconfigOf('given'));
    const env = environment({ KUBECONFIG: file('other', kubeconfigOf('other')), ...inPod });
    const found = loadKubeConfig({ kubeconfig, env, serviceAccountDirectory: makeServiceAccount() });
    expect(found.getCurrentCluster()).toMatchObject({
      server: 'https://given.test',
      caFile: join(directory, 'ca.crt'),
    });
    expect(found.getCurrentUser()?.token).toBe('token-of-given');
  });

  test('is $KUBECONFIG next: files that exist are merged, and the first to name something wins', () => {
    const files = [
      join(directory, 'missing'),
      file('first', kubeconfigOf('shared', { server: 'https://first.test', current: false })),
      file('second', kubeconfigOf('shared', { server: 'https://second.test' })),
      file('third', kubeconfigOf('third')),
    ];
    const env = environment({ KUBECONFIG: files.join(delimiter) });
    expect(loadKubeConfig({ env }).getCurrentCluster()?.server).toBe('https://first.test');
    expect(loadKubeConfig({ env, context: 'third' }).getCurrentCluster()?.server).toBe('https://third.test');
  });

  test('is the pod’s service account next', () => {
    mkdirSync(join(directory, '.kube'));
    file('.kube/config', kubeconfigOf('home'));
    const serviceAccountDirectory = makeServiceAccount();
    const found = loadKubeConfig({ env: environment(inPod), serviceAccountDirectory });
    expect(found.getCurrentCluster()).toMatchObject({
      server: 'https://10.0.0.1:443',
      caFile: join(serviceAccountDirectory, 'ca.crt'),
    });
    expect(found.getCurrentUser()?.authProvider).toMatchObject({
      config: { tokenFile: join(serviceAccountDirectory, 'token') },
    });
    expect(found.getContextObject(found.getCurrentContext())?.namespace).toBe('kube-system');
  });

  test('puts an IPv6 address of the API server in brackets', () => {
    const env = environment({ ...inPod, KUBERNETES_SERVICE_HOST: 'fd00::1' });
    const found = loadKubeConfig({ env, serviceAccountDirectory: makeServiceAccount() });
    expect(found.getCurrentCluster()?.server).toBe('https://[fd00::1]:443');
  });

  test('is ~/.kube/config last', () => {
    mkdirSync(join(directory, '.kube'));
    file('.kube/config', kubeconfigOf('home'));
    const found = loadKubeConfig({ env: environment(), serviceAccountDirectory: directory });
    expect(found.getCurrentCluster()?.server).toBe('https://home.test');
  });

  test('is nowhere: never localhost, but an error that says what to do', () => {
    const load = () => loadKubeConfig({ env: environment(), serviceAccountDirectory: directory });
    expect(load).toThrow(NoClusterError);
    expect(load).toThrow('No cluster to talk to: give --kubeconfig FILE or set KUBECONFIG, or run in a pod');
  });
});

describe('a user', () => {
  test('may be missing from a context, and the cluster’s CA is used all the same', async () => {
    const found = loadKubeConfig({ kubeconfig: file('config', kubeconfigOf('a', { user: '' })), env: {} });
    file('ca.crt', 'the CA');
    const options: RequestOptions = {};
    await found.applyToHTTPSOptions(options);
    expect(String(options.ca)).toBe('the CA');
  });
});

describe('what cannot be used', () => {
  test.each([
    { name: 'YAML that is none', text: 'clusters: [', wantMessage: 'is not valid' },
    { name: 'an empty file', text: ' \n', wantMessage: 'is empty' },
    {
      name: 'a cluster without a server',
      text: '{"clusters":[{"name":"a","cluster":{}}]}',
      wantMessage: 'server is missing',
    },
    {
      name: 'no current context',
      text: kubeconfigOf('a', { current: false }),
      wantMessage: 'choose one with --context (it has: a)',
    },
    {
      name: 'a user that is not there',
      text: kubeconfigOf('a', { user: 'b' }),
      wantMessage: 'refers to the user b, which is missing',
    },
    {
      name: 'a server that is no URL',
      text: kubeconfigOf('a', { server: 'a:6443' }),
      wantMessage: 'is no http(s) URL: a:6443',
    },
    {
      name: 'a current context that is no text',
      text: '{"contexts":[],"current-context":{"toString":null}}',
      wantMessage: 'has no context (no text)',
    },
    { name: 'a file with nothing but a comment', text: '#', wantMessage: 'is not valid' },
    {
      name: 'a cluster that is not there',
      text: '{"contexts":[{"name":"a","context":{"cluster":"b"}}],"current-context":"a"}',
      wantMessage: 'refers to the cluster b, which is missing',
    },
  ])('says so of $name', ({ text, wantMessage }) => {
    const load = () => loadKubeConfig({ kubeconfig: file('config', text), env: {} });
    expect(load).toThrow(KubeConfigError);
    expect(load).toThrow(wantMessage);
  });

  test('says so of a file that cannot be read', () => {
    const kubeconfig = join(directory, 'missing');
    expect(() => loadKubeConfig({ kubeconfig, env: {} })).toThrow(
      `Cannot read the kubeconfig ${kubeconfig}: ENOENT`,
    );
  });

  test('says so of a $KUBECONFIG none of whose files exists', () => {
    const env = environment({ KUBECONFIG: join(directory, 'missing') });
    expect(() => loadKubeConfig({ env })).toThrow('which does not exist');
  });

  test('says so of an unknown context, and which there are', () => {
    const kubeconfig = file('config', kubeconfigOf('a'));
    expect(() => loadKubeConfig({ kubeconfig, context: 'b', env: {} })).toThrow(
      'has no context b (it has: a)',
    );
  });
});
