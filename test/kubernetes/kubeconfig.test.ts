import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  KubeConfigError,
  loadKubeConfig,
  NoClusterError,
  podNamespaceOf,
} from '../../src/kubernetes/kubeconfig.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** A kubeconfig with one cluster, one user and one context, all with the same name. */
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

/** An environment with an empty home directory. */
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

describe('the source of the configuration', () => {
  test('is the given file first; its relative paths are relative to it', () => {
    const kubeconfig = file('given', kubeconfigOf('given'));
    const env = environment({ KUBECONFIG: file('other', kubeconfigOf('other')), ...inPod });
    const found = loadKubeConfig({ kubeconfig, env, serviceAccountDirectory: makeServiceAccount() });
    expect(found.getCurrentCluster()).toMatchObject({
      server: 'https://given.test',
      caFile: join(directory, 'ca.crt'),
    });
    expect(found.getCurrentUser()).toMatchObject({ token: 'token-of-given' });
  });

  test('is $KUBECONFIG next: existing files are merged, and the first value counts', () => {
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

  test.each([
    { name: 'empty', text: '' },
    { name: 'blank', text: ' \n' },
    { name: 'only a comment', text: '# nothing yet\n' },
    { name: 'an empty document', text: '---\n' },
  ])('is each file of the list except empty ones: $name', ({ text }) => {
    const files = [file('nothing', text), file('one', kubeconfigOf('one'))];
    const env = environment({ KUBECONFIG: files.join(delimiter) });
    expect(loadKubeConfig({ env }).getCurrentCluster()?.server).toBe('https://one.test');
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
    expect(found.getCurrentUser()).toMatchObject({ tokenFile: join(serviceAccountDirectory, 'token') });
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

  test('is missing: never localhost, but an error that says what to do', () => {
    const load = () => loadKubeConfig({ env: environment(), serviceAccountDirectory: directory });
    expect(load).toThrow(NoClusterError);
    expect(load).toThrow('No cluster to talk to: give --kubeconfig FILE or set KUBECONFIG, or run in a pod');
  });
});

describe('a pod’s service account', () => {
  test('is read again each time, because a kubelet replaces it', async () => {
    const serviceAccountDirectory = makeServiceAccount();
    const config = loadKubeConfig({ env: inPod, serviceAccountDirectory });
    for (const want of ['first', 'second']) {
      file('serviceaccount/token', want);
      file('serviceaccount/ca.crt', `CA of the ${want}`);
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      expect([String(options.ca), options.headers]).toEqual([
        `CA of the ${want}`,
        { Authorization: `Bearer ${want}` },
      ]);
    }
  });

  test('contains the namespace of the pod, unless it is not mounted', () => {
    const serviceAccountDirectory = makeServiceAccount();
    const load = () => loadKubeConfig({ env: inPod, serviceAccountDirectory });
    expect(podNamespaceOf(load())).toBe('kube-system');
    rmSync(join(serviceAccountDirectory, 'namespace'));
    expect(podNamespaceOf(load())).toBeUndefined();
    const kubeconfig = file('config', kubeconfigOf('a'));
    expect(podNamespaceOf(loadKubeConfig({ kubeconfig, env: {} }))).toBeUndefined();
  });

  test('has a single context', () => {
    const serviceAccountDirectory = makeServiceAccount();
    const load = (context: string) => loadKubeConfig({ env: inPod, context, serviceAccountDirectory });
    expect(load('in-cluster').getCurrentContext()).toBe('in-cluster');
    expect(() => load('production')).toThrow(
      "the pod's service account has no context production (it has: in-cluster)",
    );
  });
});

describe('a user', () => {
  test('may be missing in a context, and the cluster’s CA is still used', async () => {
    const found = loadKubeConfig({ kubeconfig: file('config', kubeconfigOf('a', { user: '' })), env: {} });
    file('ca.crt', 'the CA');
    const options: RequestOptions = {};
    await found.applyToHTTPSOptions(options);
    expect(String(options.ca)).toBe('the CA');
  });
});

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** The parameters of connections for one cluster and one user. */
async function optionsFor(cluster: object, user: object): Promise<RequestOptions> {
  const text = JSON.stringify({
    clusters: [{ name: 'a', cluster: { server: 'https://a.test', ...cluster } }],
    users: [{ name: 'a', user }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    'current-context': 'a',
  });
  const options: RequestOptions = {};
  await loadKubeConfig({ kubeconfig: file('config', text), env: {} }).applyToHTTPSOptions(options);
  return options;
}

// As in client-go: tools/clientcmd/api/types.go and transport/round_trippers.go in v0.36.3.
describe('of two fields for one value', () => {
  test.each([
    { name: 'the file exists', file: 'pem', more: {} },
    { name: 'the file is missing', file: 'missing', more: {} },
    {
      name: 'client-node gets credentials from a plugin',
      file: 'pem',
      more: { exec: { command: 'echo', args: ['{"status":{"token":"abc"}}'] } },
    },
  ])('the data has precedence over the file in $name', async ({ file: path, more }) => {
    file('pem', 'of the file');
    const options = await optionsFor(
      { 'certificate-authority': path, 'certificate-authority-data': base64('CA') },
      {
        ...more,
        'client-certificate': path,
        'client-certificate-data': base64('certificate'),
        'client-key': path,
        'client-key-data': base64('key'),
      },
    );
    expect([options.ca, options.cert, options.key].map(String)).toEqual(['CA', 'certificate', 'key']);
  });

  test('empty data counts as absent, separately for each field', async () => {
    file('pem', 'of the file');
    const options = await optionsFor(
      { 'certificate-authority': 'pem', 'certificate-authority-data': '' },
      { 'client-certificate': 'pem', 'client-key-data': base64('key') },
    );
    expect([options.ca, options.cert, options.key].map(String)).toEqual([
      'of the file',
      'of the file',
      'key',
    ]);
  });

  test('a key without a certificate does not count', async () => {
    const options = await optionsFor({}, { token: 'abc', 'client-key-data': base64('key') });
    expect(options.key).toBeUndefined();
  });

  test.each<{ name: string; content: string | undefined; token?: string; want: string }>([
    { name: 'by itself', content: 'of-file\n', want: 'Bearer of-file' },
    { name: 'before a token', content: 'of-file\n', token: 'written', want: 'Bearer of-file' },
    {
      name: 'that is missing does not count beside a token',
      content: undefined,
      token: 'written',
      want: 'Bearer written',
    },
    {
      name: 'that is empty does not count beside a token',
      content: ' \n',
      token: 'written',
      want: 'Bearer written',
    },
  ])('a token file $name', async ({ content, token, want }) => {
    if (content !== undefined) file('token', content);
    const { headers = {} } = await optionsFor({}, { tokenFile: 'token', ...(token && { token }) });
    expect(String((headers as Record<string, unknown>)['Authorization']).trim()).toBe(want);
  });

  test('a missing token file is an error if there is no token', async () => {
    await expect(optionsFor({}, { tokenFile: 'token' })).rejects.toThrow('ENOENT');
  });
});

test('a token file is read again, and its last content counts while it cannot be read', async () => {
  const token = file('token', 'first');
  const text = JSON.stringify({
    clusters: [{ name: 'a', cluster: { server: 'https://a.test' } }],
    users: [{ name: 'a', user: { tokenFile: token, token: 'written' } }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    'current-context': 'a',
  });
  const found = loadKubeConfig({ kubeconfig: file('config', text), env: {} });
  const now = async () => {
    const options: RequestOptions = {};
    await found.applyToHTTPSOptions(options);
    return options.headers;
  };
  expect(await now()).toEqual({ Authorization: 'Bearer first' });
  file('token', 'second\n');
  expect(await now()).toEqual({ Authorization: 'Bearer second' });
  rmSync(token);
  expect(await now()).toEqual({ Authorization: 'Bearer second' });
});

const yamlOf = (cluster: string, user: string, more = '') => `apiVersion: v1
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

test.each([
  { name: 'a token', cluster: `certificate-authority-data: ${base64('CA')}`, user: 'token: abc' },
  {
    name: 'files',
    cluster: 'certificate-authority: pem',
    user: 'client-certificate: pem, client-key: pem',
  },
  {
    name: 'a certificate',
    cluster: 'tls-server-name: api.test',
    user: `client-certificate-data: ${base64('cert')}, client-key-data: ${base64('key')}`,
  },
  { name: 'a server that is not verified', cluster: 'insecure-skip-tls-verify: true', user: 'token: abc' },
  { name: 'what an extension says', cluster: 'extensions: [{ name: minikube }]', user: 'token: abc' },
  { name: 'a password', cluster: '', user: 'username: a, password: b' },
  { name: 'another user to act as', cluster: '', user: 'token: abc, as: b' },
  { name: 'a proxy', cluster: 'proxy-url: "http://proxy.test"', user: 'token: abc' },
  { name: 'a plugin', cluster: '', user: `exec: { command: echo, args: ['{"status":{"token":"abc"}}'] }` },
  { name: 'nothing but a server', cluster: '', user: '' },
])('with $name the result is that of client-node', async ({ cluster, user }) => {
  file('pem', 'of the file');
  const kubeconfig = file('config', yamlOf(cluster, user));
  const theirs = new KubeConfig();
  theirs.loadFromFile(kubeconfig);
  const ours = loadKubeConfig({ kubeconfig, env: {} });
  expect(ours.getCurrentCluster()).toEqual(defined(theirs.getCurrentCluster()));
  expect(ours.getCurrentUser()).toEqual(defined(theirs.getCurrentUser()));
  expect(ours.getContextObject('admin@one')).toEqual(theirs.getContextObject('admin@one'));
  expect([ours.getCurrentContext(), ours.getContextObject('other')]).toEqual(['admin@one', null]);
  const wanted: RequestOptions = { headers: {} };
  const got: RequestOptions = { headers: {} };
  await theirs.applyToHTTPSOptions(wanted);
  await ours.applyToHTTPSOptions(got);
  expect({ ...got, agent: undefined }).toEqual({ ...wanted, agent: undefined });
});

/** Without null and undefined fields, which mean absent fields. */
function defined(fields: object | null): object {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value != null));
}

test('anchors and merge keys are resolved', () => {
  const text = yamlOf('', '').replace('{ server:', '&one { server:');
  const more = '- name: two\n  cluster: { <<: *one, tls-server-name: two.test }\nusers:';
  const kubeconfig = file('config', text.replace('users:', more).replace('cluster: one', 'cluster: two'));
  expect(loadKubeConfig({ kubeconfig, env: {} }).getCurrentCluster()).toMatchObject({
    server: 'https://one.test:6443',
    tlsServerName: 'two.test',
  });
});

test.each([
  { name: 'a bracket is missing', user: '{ token: s3cret', want: 'it is no YAML at line 3' },
  { name: 'it looks like a block', user: '\n    password: |s3cret\n', want: 'it is no YAML at line 4' },
  { name: 'it looks like an alias', user: '\n    password: *s3cret\n', want: 'it is no YAML' },
])('an error about a file does not contain its text, which may be a secret: $name', ({ user, want }) => {
  const kubeconfig = file('config', `users:\n- name: a\n  user: ${user}`);
  const load = () => loadKubeConfig({ kubeconfig, env: {} });
  expect(load).toThrow(`is not valid: ${want}`);
  expect(load).toThrow(/^(?!.*s3cret)/s);
});

describe('an error', () => {
  test.each([
    { name: 'YAML that is none', text: 'clusters: [', wantMessage: 'is not valid' },
    { name: 'an alias of nothing', text: '*nothing', wantMessage: 'is not valid' },
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
      wantMessage: 'is not valid: current-context is not a text',
    },
    {
      name: 'a token that is no text',
      text: '{"users":[{"name":"a","user":{"token":123}}]}',
      wantMessage: 'is not valid: users[0].user.token is not a text',
    },
    { name: 'clusters that are no list', text: 'clusters: one', wantMessage: 'clusters is not a list' },
    { name: 'a text', text: 'nonsense', wantMessage: 'it is not an object' },
    {
      name: 'a context without its cluster',
      text: '{"contexts":[{"name":"a"}]}',
      wantMessage: 'contexts[0].context is missing',
    },
    { name: 'a file with nothing but a comment', text: '#', wantMessage: 'is empty' },
    {
      name: 'a cluster that is not there',
      text: '{"contexts":[{"name":"a","context":{"cluster":"b"}}],"current-context":"a"}',
      wantMessage: 'refers to the cluster b, which is missing',
    },
  ])('describes $name', ({ text, wantMessage }) => {
    const load = () => loadKubeConfig({ kubeconfig: file('config', text), env: {} });
    expect(load).toThrow(KubeConfigError);
    expect(load).toThrow(wantMessage);
  });

  test('describes an unreadable file', () => {
    const kubeconfig = join(directory, 'missing');
    expect(() => loadKubeConfig({ kubeconfig, env: {} })).toThrow(
      `Cannot read the kubeconfig ${kubeconfig}: ENOENT`,
    );
  });

  test('describes a $KUBECONFIG without existing files', () => {
    const missing = join(directory, 'missing');
    const load = (...files: readonly string[]) =>
      loadKubeConfig({ env: environment({ KUBECONFIG: files.join(delimiter) }) });
    expect(() => load(missing)).toThrow(
      `KUBECONFIG names ${missing}, which does not exist: correct it, unset it or give --kubeconfig FILE`,
    );
    expect(() => load(missing, `${missing}2`)).toThrow(`${missing}2, and none of them exists: correct it,`);
  });

  test('describes a $KUBECONFIG with only empty files', () => {
    const files = [file('one', ''), file('two', '#')];
    const load = (...some: readonly string[]) =>
      loadKubeConfig({ env: environment({ KUBECONFIG: some.join(delimiter) }) });
    expect(() => load(...files)).toThrow(KubeConfigError);
    expect(() => load(...files)).toThrow(`${files.join(', ')}, and those that exist are empty: correct it,`);
    expect(() => load(...files.slice(0, 1))).toThrow(`${files[0]}, which is empty: correct it,`);
  });

  test('describes an unknown context, and lists the known ones', () => {
    const kubeconfig = file('config', kubeconfigOf('a'));
    expect(() => loadKubeConfig({ kubeconfig, context: 'b', env: {} })).toThrow(
      'has no context b (it has: a)',
    );
  });
});
