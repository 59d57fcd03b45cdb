import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { generateCertificate } from '../../src/apiserver/access/certificates.ts';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { createClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/kubeconfig.ts';
import { runServer } from '../../src/processes/server-process.ts';
import { type ServeSettings, serveSettings } from '../../src/settings/serve-settings.ts';
import { type GivenFlags, resolveSettings } from '../../src/settings/settings-table.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import { SimHost } from '../support/make-host.ts';
import { waitFor } from '../support/virtual-clock.ts';

let root: string;
let directory: string;
let directories = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'server-process-'));
});
beforeEach(() => {
  directories += 1;
  directory = join(root, `${directories}`);
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

/** Serves until the test is over. Resolves when it has printed how to use it. */
async function serve(flags: GivenFlags<ServeSettings> = {}) {
  const host = new SimHost();
  const settings = resolveSettings(serveSettings, { listen: '127.0.0.1:0', ...flags }, {});
  let end: { readonly error: unknown } | undefined;
  const running = runServer(settings, host).then(
    () => {
      end = { error: undefined };
    },
    (error: unknown) => {
      end = { error };
    },
  );
  const stop = async () => {
    host.stop();
    await running;
  };
  onTestFinished(stop);
  await waitFor(() => end !== undefined || host.said.out !== '', 'what it says');
  if (end) throw end.error;
  const [, kubeconfig = ''] = /kubectl --kubeconfig (\S+) /.exec(host.said.out) ?? [];
  const [, readOnlyKubeconfig = ''] = /kubeconfig for reads: (\S+)\n/.exec(host.said.out) ?? [];
  return { host, kubeconfig, readOnlyKubeconfig, stop };
}

function connect(kubeconfig: string): KubernetesClient {
  const client = createClient({
    kubeConfig: loadKubeConfig({ kubeconfig, env: {} }),
    clock: systemClock,
    userAgent: 'test',
  });
  onTestFinished(() => client.close());
  return client;
}

async function whatGoesWrong(flags: GivenFlags<ServeSettings>): Promise<string> {
  const error = await serve(flags).then(
    () => new Error('nothing went wrong'),
    (reason: unknown) => reason,
  );
  const messages: string[] = [];
  for (let each = error; each instanceof Error; each = each.cause) messages.push(each.message);
  return messages.join(': ');
}

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'a' },
  spec: { holderIdentity: 'b' },
};

describe('serve', () => {
  test('accepts users of the kubeconfigs that it writes, with their permissions', async () => {
    const { kubeconfig, readOnlyKubeconfig } = await serve();
    const admin = connect(kubeconfig);
    await admin.request({ method: 'POST', path: LEASES, body: lease });
    const reader = connect(readOnlyKubeconfig);
    expect(await reader.request({ method: 'GET', path: `${LEASES}/a` })).toMatchObject(lease);
    await expect(reader.request({ method: 'DELETE', path: `${LEASES}/a` })).rejects.toMatchObject({
      status: 403,
    });
  });

  test('protects its kubeconfigs, and removes them at the end if it stores nothing', async () => {
    const { host, kubeconfig, readOnlyKubeconfig, stop } = await serve();
    for (const file of [kubeconfig, readOnlyKubeconfig]) expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(host.undos.size).toBe(1);
    await stop();
    await expect(stat(kubeconfig)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(host.undos.size).toBe(0);
    expect(host.said.err).toBe('');
  });

  test('keeps objects, its certificate and its tokens in the data directory', async () => {
    const first = await serve({ dataDirectory: directory });
    await connect(first.kubeconfig).request({ method: 'POST', path: LEASES, body: lease });
    const kept = ['ca.crt', 'tls.crt', 'tls.key', 'tokens.json'];
    const read = () => Promise.all(kept.map((file) => readFile(join(directory, file), 'utf8')));
    const before = await read();
    await first.stop();
    const second = await serve({ dataDirectory: directory });
    expect(await read()).toEqual(before);
    expect(await connect(second.kubeconfig).request({ method: 'GET', path: `${LEASES}/a` })).toMatchObject(
      lease,
    );
    for (const file of kept) expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    // No partial file is left.
    expect(
      (await readdir(directory)).filter((file) => !file.startsWith('objects.sqlite')).toSorted(),
    ).toEqual(['ca.crt', 'kubeconfig', 'kubeconfig-read-only', 'tls.crt', 'tls.key', 'tokens.json']);
  });

  test('creates a new certificate if the stored one does not match the address', async () => {
    await (await serve({ dataDirectory: directory })).stop();
    const before = await readFile(join(directory, 'ca.crt'), 'utf8');
    const { kubeconfig } = await serve({ dataDirectory: directory, listen: '127.0.0.2:0' });
    expect(await readFile(join(directory, 'ca.crt'), 'utf8')).not.toBe(before);
    expect(await connect(kubeconfig).request({ method: 'GET', path: LEASES })).toMatchObject({ items: [] });
  });

  test('uses a given certificate, and gives clients its root', async () => {
    await (await serve({ dataDirectory: directory })).stop();
    const { ca, cert, key } = await generateCertificate([], systemClock);
    const [tlsCertificate, tlsKey] = [join(directory, 'own.crt'), join(directory, 'own.key')];
    await writeFile(tlsCertificate, `${cert}${ca}`);
    await writeFile(tlsKey, key);
    const { kubeconfig } = await serve({ tlsCertificate, tlsKey });
    expect(await connect(kubeconfig).request({ method: 'GET', path: LEASES })).toMatchObject({ items: [] });
    await writeFile(tlsCertificate, cert);
    const second = await serve({ tlsCertificate, tlsKey });
    expect(await readFile(second.kubeconfig, 'utf8')).not.toContain('certificate-authority-data');
  });

  test('accepts the users of a token file, and reports if none of them is an administrator', async () => {
    await (await serve({ dataDirectory: directory })).stop();
    const tokens = join(directory, 'own.yaml');
    await writeFile(tokens, '- { name: reader, token: abc, access: read-only }\n');
    const { host, readOnlyKubeconfig } = await serve({ tokens });
    expect(host.said.out).toContain('No token allows all requests, so no kubeconfig for writes was written.');
    expect(await readFile(readOnlyKubeconfig, 'utf8')).toContain('token: abc');
  });

  test('writes the kubeconfig to the given path, repeatedly, but never over another file', async () => {
    await (await serve({ dataDirectory: directory })).stop();
    const kubeconfigOut = join(directory, 'out');
    const first = await serve({ kubeconfigOut });
    expect(first.kubeconfig).toBe(kubeconfigOut);
    await first.stop();
    const before = await readFile(kubeconfigOut, 'utf8');
    await (await serve({ kubeconfigOut })).stop();
    expect(await readFile(kubeconfigOut, 'utf8')).not.toBe(before);
    await writeFile(kubeconfigOut, 'apiVersion: v1\n');
    expect(await whatGoesWrong({ kubeconfigOut })).toBe(
      `--kubeconfig-out ${kubeconfigOut}: there is a file that serve has not written; choose another path`,
    );
    expect(await readFile(kubeconfigOut, 'utf8')).toBe('apiVersion: v1\n');
  });

  test('warns if other machines can reach it, and prints an address for this machine', async () => {
    const { host, kubeconfig } = await serve({ listen: '0.0.0.0:0' });
    expect(host.said.err.match(/^warning: .*$/gm)).toEqual([
      'warning: 0.0.0.0 is not a loopback address: other machines can reach the server, and only its tokens protect it',
    ]);
    expect(await connect(kubeconfig).request({ method: 'GET', path: LEASES })).toMatchObject({ items: [] });
  });

  test('serves the given versions of LeaseCandidate', async () => {
    const { kubeconfig } = await serve({ leaseCandidateVersions: 'v1alpha2' });
    const client = connect(kubeconfig);
    const served = async (apiVersion: string) => {
      const path = `/apis/${apiVersion}/leasecandidates`;
      const answer = await client.request({ method: 'GET', path }).catch((error: unknown) => error);
      return answer instanceof Error ? 'no' : 'yes';
    };
    expect([
      await served('coordination.k8s.io/v1beta1'),
      await served('coordination.k8s.io/v1alpha2'),
      await served('coordination.k8s.io/v1alpha1'),
      await served(CUSTOM_API_VERSION),
    ]).toEqual(['no', 'yes', 'no', 'no']);
  });

  test('logs each request on request', async () => {
    const { host, kubeconfig, stop } = await serve({ logLevel: 'debug' });
    await connect(kubeconfig).request({ method: 'GET', path: LEASES });
    await stop();
    const logged = host.said.err
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(logged).toMatchObject([
      { level: 'info', msg: 'Serving' },
      { level: 'debug', msg: 'Answered', method: 'GET', path: LEASES, code: 200, user: 'admin' },
      { level: 'info', msg: 'Stopping', signal: 'SIGTERM' },
      { level: 'info', msg: 'Stopped' },
    ]);
  });

  test('explains what to do when its address is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => {
      other.close();
    });
    await waitFor(() => other.listening);
    const address = other.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    expect(await whatGoesWrong({ listen: `127.0.0.1:${port}` })).toMatch(
      new RegExp(
        `^cannot listen on 127\\.0\\.0\\.1:${port}: address already in use; stop the program that listens there or choose another port`,
      ),
    );
  });

  test('reports that another process uses the same data directory', async () => {
    await serve({ dataDirectory: directory });
    expect(await whatGoesWrong({ dataDirectory: directory })).toContain('in use by another process');
  });

  test.each<{
    name: string;
    flags: (file: string) => GivenFlags<ServeSettings>;
    text?: string;
    want: RegExp;
  }>([
    {
      name: 'a certificate that is not there',
      flags: (file) => ({ tlsCertificate: `${file}.crt`, tlsKey: file }),
      want: /^--tls-cert .*\.crt cannot be used: ENOENT/,
    },
    {
      name: 'a certificate that is none',
      flags: (file) => ({ tlsCertificate: file, tlsKey: file }),
      want: /^--tls-cert .*, --tls-key .* cannot be used: the certificate cannot be read: it has to be X\.509 in PEM/,
    },
    {
      name: 'tokens that are none',
      flags: (tokens) => ({ tokens }),
      text: 'a: b\n',
      want: /^--tokens .* cannot be used: line 1: must be a list of at least one token$/,
    },
    {
      name: 'a data directory that is a file',
      flags: (dataDirectory) => ({ dataDirectory }),
      want: /^--data-dir .* cannot be used: .* is a file, not a directory$/,
    },
    {
      name: 'a kubeconfig in a missing directory',
      flags: (file) => ({ kubeconfigOut: `${file}.d/kubeconfig` }),
      want: /^The kubeconfig .* cannot be used: ENOENT/,
    },
  ])('reports the problem with $name', async ({ flags, text = 'x', want }) => {
    const file = `${directory}.given`;
    await writeFile(file, text);
    expect(await whatGoesWrong(flags(file))).toMatch(want);
  });
});
