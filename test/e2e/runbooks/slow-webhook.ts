import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { generateCertificate } from '../../../src/apiserver/access/certificates.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';

/** A webhook that allows every write of a Lease or a LeaseCandidate, slowly. */
export interface SlowWebhook {
  stop(): Promise<void>;
}

/** Makes the API server call a new webhook, by a ValidatingWebhookConfiguration with that name. */
export async function startSlowWebhook(
  plane: ControlPlane,
  name: string,
  delayMs: number,
): Promise<SlowWebhook> {
  const { ca, cert, key } = await generateCertificate([], systemClock);
  const server = createServer({ cert, key }, async (request, response) => {
    const { apiVersion, kind, request: asked } = (await json(request)) as Review;
    await sleep(delayMs);
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, allowed: true } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  await plane.request('POST', configurations, {
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: Buffer.from(ca).toString('base64'),
        },
        rules: [
          {
            apiGroups: ['coordination.k8s.io'],
            apiVersions: ['*'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['leases', 'leasecandidates'],
          },
        ],
        sideEffects: 'None',
        failurePolicy: 'Ignore',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  return {
    async stop() {
      await plane.request('DELETE', `${configurations}/${name}`);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: { readonly uid: string };
}
