import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connectParticipant } from '../../src/participant/participant-client.ts';
import { ScriptedServer, sendJson } from '../kubernetes/scripted-server.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

vi.mock(import('../../src/kubernetes/undici-channel.ts'), async (importOriginal) => ({
  ...(await importOriginal()),
  openUndiciChannel() {
    throw new Error('undici is used');
  },
}));

test('a participant knows the namespace of its Pod by the service account, and not by a kubeconfig', () => {
  const directory = mkdtempSync(join(tmpdir(), 'participant-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const write = (name: string, text: string) => {
    const file = join(directory, name);
    writeFileSync(file, text);
    return file;
  };
  for (const [name, text] of Object.entries({ token: 't', 'ca.crt': 'c', namespace: 'shop' }))
    write(name, text);
  const kubeconfig = write(
    'config',
    JSON.stringify({
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server: 'http://127.0.0.1:1' } }],
      contexts: [{ name: 'test', context: { cluster: 'test', namespace: 'shop' } }],
    }),
  );
  const connect = (env: Record<string, string>) => {
    const connected = connectParticipant({
      kubeconfig: undefined,
      context: undefined,
      env,
      clock: new VirtualClock(),
      userAgent: 'test',
      serviceAccountDirectory: directory,
    });
    onTestFinished(() => connected.client.close());
    return connected;
  };
  const inPod = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' };
  expect(connect(inPod)).toMatchObject({ namespace: 'shop', podNamespace: 'shop' });
  expect(connect({ ...inPod, KUBECONFIG: kubeconfig })).toMatchObject({
    namespace: 'shop',
    podNamespace: undefined,
  });
});

test('a participant talks to the API server without undici, and so without WebAssembly', async () => {
  const server = await ScriptedServer.start();
  onTestFinished(() => server.stop());
  server.answer = (_, response) => sendJson(response, { gitVersion: 'v1.36.3' });
  const directory = mkdtempSync(join(tmpdir(), 'participant-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const kubeconfig = join(directory, 'config');
  const config = {
    'current-context': 'test',
    clusters: [{ name: 'test', cluster: { server: `http://127.0.0.1:${server.port}` } }],
    users: [{ name: 'test', user: {} }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const { client } = connectParticipant({
    kubeconfig,
    context: undefined,
    env: {},
    clock: new VirtualClock(),
    userAgent: 'test',
  });
  onTestFinished(() => client.close());
  const answer = await client.request({ method: 'GET', path: '/version' });
  expect(answer).toEqual({ gitVersion: 'v1.36.3' });
});
