import { describe, expect, test } from 'vitest';
import { candidateResources } from '../../src/coordination/candidate-sources.ts';
import { discoverServed } from '../../src/kubernetes/discovery.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import type { JsonObject } from '../../src/support/json.ts';
import { ScriptedClient } from './scripted-client.ts';

/** A server that serves these resources in these versions of the group (rule 11). */
function makeServer(resourcesByVersion: Record<string, readonly string[]>): ScriptedClient {
  const client = new ScriptedClient();
  const group = '/apis/coordination.k8s.io';
  const answers = new Map<string, JsonObject>();
  for (const [version, names] of Object.entries(resourcesByVersion)) {
    answers.set(`${group}/${version}`, { resources: names.map((name) => ({ name })) });
  }
  client.onRequest = ({ method, path }) => {
    const answer = answers.get(path);
    if (!answer) throw new ApiError({ method, path, status: 404, message: 'not found' });
    return answer;
  };
  return client;
}

describe('the version of LeaseCandidate (rule 11)', () => {
  test.each([
    {
      name: 'the newest there is',
      served: { v1: ['leases'], v1alpha2: ['leasecandidates'], v1beta1: ['leasecandidates'] },
      want: 'v1beta1',
    },
    {
      name: 'the only one there is',
      served: { v1: ['leases'], v1alpha1: ['leasecandidates'] },
      want: 'v1alpha1',
    },
    {
      name: 'one that has LeaseCandidates',
      served: { v1beta1: ['leases'], v1alpha2: ['leases', 'leasecandidates'] },
      want: 'v1alpha2',
    },
    { name: 'none if there are only Leases', served: { v1: ['leases'] }, want: undefined },
    {
      name: 'none in which only a subresource bears the name',
      served: { v1beta1: ['leasecandidates/status'] },
      want: undefined,
    },
  ])('is $name', async ({ served, want }) => {
    await expect(discoverServed(makeServer(served), candidateResources.native)).resolves.toBe(
      want && `coordination.k8s.io/${want}`,
    );
  });

  test('is undefined if the group is not served', async () => {
    const client = new ScriptedClient();
    client.onRequest = ({ method, path }) => {
      throw new ApiError({ method, path, status: 404, message: 'not found' });
    };
    await expect(discoverServed(client, candidateResources.native)).resolves.toBeUndefined();
  });

  test('is unknown after a discovery error', async () => {
    const client = new ScriptedClient();
    client.onRequest = ({ method, path }) => {
      throw new ApiError({ method, path, status: 503, message: 'try later' });
    };
    await expect(discoverServed(client, candidateResources.native)).rejects.toMatchObject({
      status: 503,
    });
  });
});

describe('any resource', () => {
  test('is found in the first preferred version that has it, whatever the group lists', async () => {
    const client = makeServer({ v1: ['leases'] });
    const answer = client.onRequest;
    client.onRequest = (request) =>
      request.path.endsWith('.io') ? { versions: [{ version: 'v2' }] } : answer(request);
    const apiVersions = ['coordination.k8s.io/v2', 'coordination.k8s.io/v1'] as const;
    const found = discoverServed(client, { resource: 'leases', apiVersions });
    await expect(found).resolves.toBe('coordination.k8s.io/v1');
  });

  test('is not found in a list without names', async () => {
    const client = makeServer({});
    client.onRequest = () => ({ resources: ['leases', {}, { name: 1 }] });
    const query = {
      resource: 'leases',
      apiVersions: ['coordination.k8s.io/v1'],
    } as const;
    await expect(discoverServed(client, query)).resolves.toBeUndefined();
  });
});
