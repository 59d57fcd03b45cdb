import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { KubeConfigError, loadKubeConfig } from '../../src/kubernetes/kubeconfig.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { wildJson, wildObject, wildText } from './wild-values.ts';

const named = (field: string, value: fc.Arbitrary<unknown>) =>
  fc.array(wildObject({ name: fc.constantFrom('a', 'b'), [field]: value }), { maxLength: 2 });

const config = wildObject({
  apiVersion: fc.constant('v1'),
  kind: fc.constant('Config'),
  'current-context': fc.constantFrom('a', 'b'),
  clusters: named(
    'cluster',
    wildObject({
      server: fc.oneof(fc.constant('https://127.0.0.1:1'), wildText),
      'certificate-authority': wildText,
      'certificate-authority-data': wildText,
      'proxy-url': fc.oneof(fc.constant('http://127.0.0.1:1'), wildText),
    }),
  ),
  users: named(
    'user',
    wildObject({
      token: wildText,
      tokenFile: fc.oneof(fc.constant('config'), wildText),
      'client-certificate': wildText,
      'client-certificate-data': wildText,
      'client-key': wildText,
      'client-key-data': wildText,
      exec: wildObject({ command: wildText, args: fc.array(wildText, { maxLength: 2 }) }),
    }),
  ),
  contexts: named(
    'context',
    wildObject({ cluster: fc.constantFrom('a', 'b'), user: fc.constantFrom('a', 'b'), namespace: wildText }),
  ),
});

/** A file for --kubeconfig. */
export const kubeconfigTarget: FuzzTarget = {
  name: 'loadKubeConfig',
  runs: 200,
  start() {
    const directory = mkdtempSync(join(tmpdir(), 'fuzz-'));
    const file = join(directory, 'config');
    const text = fc.oneof(
      { weight: 4, arbitrary: fc.oneof(config, wildJson).map((value) => stringify(value)) },
      { weight: 1, arbitrary: wildText },
    );
    const property = fc.property(text, (content) => {
      writeFileSync(file, content);
      try {
        expect(loadKubeConfig({ kubeconfig: file, env: {} }).getCurrentCluster()).toHaveProperty('server');
      } catch (error) {
        expect(error).toBeInstanceOf(KubeConfigError);
        expect((error as Error).message).toContain(file);
      }
    });
    return Promise.resolve({
      property,
      stop() {
        rmSync(directory, { recursive: true, force: true });
        return Promise.resolve();
      },
    });
  },
};
