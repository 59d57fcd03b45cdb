import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { connect, contentTypes, type Send } from '../ownership/real-server.ts';
import {
  jsonPatchCases,
  mergePatchCases,
  patched,
  strategicMergePatchCases,
  summaryOf,
  wanted,
} from './patch-cases.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
let plane: ControlPlane;
let send: Send;

beforeAll(async () => {
  plane = await startControlPlane({ version: '1.36.3' });
  send = await connect(plane);
  await send({ method: 'POST', path: leases, body: patched });
});

afterAll(() => plane?.stop());

async function outcomeOf(contentType: string, body: unknown) {
  const answer = await send({ method: 'PATCH', path: `${leases}/x?dryRun=All`, contentType, body });
  return answer.code < 300 ? summaryOf(answer.body) : { code: answer.code };
}

describe.each([
  { kind: 'JSON', contentType: contentTypes.json, cases: jsonPatchCases },
  { kind: 'merge', contentType: contentTypes.merge, cases: mergePatchCases },
  { kind: 'strategic merge', contentType: contentTypes.strategic, cases: strategicMergePatchCases },
])('on a real server, a $kind patch', ({ contentType, cases }) => {
  test.each(cases)('of %s', async (_, patch, want) => {
    expect(await outcomeOf(contentType, patch)).toEqual(wanted(want));
  });
});
