import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { connect, contentTypes, type Send, tellStories } from './real-server.ts';
import { configurationOf, refusedConfigurations } from './refused-configurations.ts';
import { stories } from './stories.ts';

let plane: ControlPlane;
let send: Send;

beforeAll(async () => {
  const runtimeConfig = ['coordination.k8s.io/v1beta1=true', 'coordination.k8s.io/v1alpha2=true'];
  plane = await startControlPlane({ version: '1.36.3', runtimeConfig });
  send = await connect(plane);
});

afterAll(() => plane?.stop());

describe('a real server', () => {
  test('plays the stories with the recorded results', async () => {
    const transcripts = await tellStories(send, stories);
    await expect(`${transcripts.join('\n\n')}\n`).toMatchFileSnapshot('testdata/stories.txt');
  });

  test.each(refusedConfigurations)('refuses a configuration with $name', async (each) => {
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases/x?fieldManager=applier&dryRun=All';
    const body = configurationOf(each);
    const answer = await send({ method: 'PATCH', path, contentType: contentTypes.apply, body });
    expect(answer.code).toBe(each.want);
  });
});
