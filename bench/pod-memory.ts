import { setTimeout as sleep } from 'node:timers/promises';
import { EvidenceWatch } from '../src/controller/crash-evidence.ts';
import { createClient } from '../src/kubernetes/client.ts';
import { systemClock } from '../src/support/system-clock.ts';
import { makeKubeConfig } from '../test/kubernetes/make-client.ts';
import { ScriptedServer, sendJson } from '../test/kubernetes/scripted-server.ts';

/** A Pod of a Deployment, as an API server sends it: the coordinator keeps only a small part of it. */
function podObject(index: number): object {
  const containerID = `containerd://${index.toString(16).padStart(64, 'a')}`;
  const times = { startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T01:00:00Z' };
  const env = Array.from({ length: 20 }, (_, at) => ({ name: `VARIABLE_${at}`, value: 'x'.repeat(40) }));
  return {
    metadata: {
      name: `component-${index % 200}-7f5c9b8d6c-${index.toString(36).padStart(5, '0')}`,
      namespace: `namespace-${index % 20}`,
      uid: `3d5e9c23-8938-4b66-bfb2-${index.toString(16).padStart(12, '0')}`,
      resourceVersion: `${1_000_000 + index}`,
      labels: { 'app.kubernetes.io/name': `component-${index % 200}` },
      annotations: { 'example.com/note': 'x'.repeat(200) },
    },
    spec: { nodeName: `node-${index % 100}`, containers: [{ name: 'main', image: 'component:1', env }] },
    status: {
      phase: 'Running',
      containerStatuses: [
        {
          name: 'main',
          containerID,
          state: { running: { startedAt: '2026-01-01T01:00:10Z' } },
          lastState: {
            terminated: { containerID: containerID.replace('aa', 'bb'), ...times, reason: 'Error' },
          },
        },
      ],
    },
  };
}

/**
 * Measures the heap of `count` watched Pods, each with a container that has run twice, in bytes per Pod: the real
 * client and watch, and a server that generates each page of the list on request.
 */
export async function measurePods(count: number, heapUsed: () => number): Promise<number> {
  const server = await ScriptedServer.start();
  const metadata = { resourceVersion: '2000000' };
  const listed = Promise.withResolvers<void>();
  server.answer = ({ url = '' }, response) => {
    // A server that records no requests: they would count as memory of the Pods.
    server.requests.length = 0;
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (searchParams.get('watch')) {
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
      if (pathname.endsWith('/pods')) listed.resolve();
      return;
    }
    const first = Number(searchParams.get('continue') ?? 0);
    const size = Number(searchParams.get('limit') ?? count);
    const length = pathname.endsWith('/pods') ? Math.min(size, count - first) : 0;
    const items = Array.from({ length }, (_, at) => podObject(first + at));
    const next = first + length < count && length > 0 ? { continue: `${first + length}` } : {};
    sendJson(response, { metadata: { ...metadata, ...next }, items });
  };
  const kubeConfig = makeKubeConfig({ server: `http://127.0.0.1:${server.port}` });
  const client = createClient({ kubeConfig, clock: systemClock, userAgent: 'bench' });
  const watch = new EvidenceWatch({
    ...{ client, clock: systemClock, namespaces: [] },
    ...{ onPodChange: () => {}, onNamespaceChange: () => {} },
    onError: (error) => {
      throw error;
    },
  });
  const before = heapUsed();
  watch.start();
  await listed.promise;
  await sleep(500);
  const bytes = (heapUsed() - before) / count;
  await watch.stop();
  await client.close();
  await server.stop();
  return bytes;
}
