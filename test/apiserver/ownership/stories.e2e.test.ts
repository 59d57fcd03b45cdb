import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { connect, tellStories } from './real-server.ts';
import { stories } from './stories.ts';

let plane: ControlPlane;

beforeAll(async () => {
  const runtimeConfig = ['coordination.k8s.io/v1beta1=true', 'coordination.k8s.io/v1alpha2=true'];
  plane = await startControlPlane({ version: '1.36.3', runtimeConfig });
});

afterAll(() => plane?.stop());

describe('a real server', () => {
  it('tells the stories as they are written down', async () => {
    const transcripts = await tellStories(await connect(plane), stories);
    await expect(`${transcripts.join('\n\n')}\n`).toMatchFileSnapshot('testdata/stories.txt');
  });
});
