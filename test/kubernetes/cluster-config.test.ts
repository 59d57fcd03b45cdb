import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadKubeConfig, podNamespaceOf } from '../../src/kubernetes/kubeconfig.ts';

const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'service-account-'));
  write({ token: 'first', 'ca.crt': 'the CA', namespace: 'team-a\n' });
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
}

async function optionsNow(config: ReturnType<typeof loadKubeConfig>) {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return { ca: String(options.ca), headers: options.headers };
}

describe("a pod's service account", () => {
  test('is read anew each time, as a kubelet replaces it', async () => {
    const config = loadKubeConfig({ env, serviceAccountDirectory: directory });
    expect(await optionsNow(config)).toEqual({ ca: 'the CA', headers: { Authorization: 'Bearer first' } });
    write({ token: 'second', 'ca.crt': 'another CA' });
    expect(await optionsNow(config)).toEqual({
      ca: 'another CA',
      headers: { Authorization: 'Bearer second' },
    });
  });

  test('tells the namespace of the pod, unless it is not mounted', () => {
    const load = () => loadKubeConfig({ env, serviceAccountDirectory: directory });
    expect(podNamespaceOf(load())).toBe('team-a');
    rmSync(join(directory, 'namespace'));
    expect(podNamespaceOf(load())).toBeUndefined();
  });

  test('has one context, and no other', () => {
    const load = (context: string) => loadKubeConfig({ env, context, serviceAccountDirectory: directory });
    expect(load('in-cluster').getCurrentCluster()?.server).toBe('https://10.0.0.1:443');
    expect(() => load('production')).toThrow(
      "the pod's service account has no context production (it has: in-cluster)",
    );
  });
});
