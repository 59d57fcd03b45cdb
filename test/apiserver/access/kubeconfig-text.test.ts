import { KubeConfig } from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import { kubeconfigText } from '../../../src/apiserver/access/kubeconfig-text.ts';

test.each([
  { ca: undefined },
  { ca: `-----BEGIN CERTIFICATE-----\n${'x'.repeat(500)}\n-----END CERTIFICATE-----\n` },
])('a kubeconfig tells clients where to go, whom to trust and who they are', ({ ca }) => {
  const config = new KubeConfig();
  config.loadFromString(
    kubeconfigText({ server: 'https://127.0.0.1:6443', token: 'secret', ...(ca !== undefined && { ca }) }),
  );
  expect(config.getCurrentCluster()).toMatchObject({
    server: 'https://127.0.0.1:6443',
    caData: ca === undefined ? undefined : Buffer.from(ca).toString('base64'),
  });
  expect(config.getCurrentUser()?.token).toBe('secret');
});
