import { expect, test } from 'vitest';
import { compareServers } from './differential.ts';
import { embeddedApi, startEmbeddedTarget } from './embedded-target.ts';
import type { Body, ConformanceTarget } from './target.ts';

const api = embeddedApi('v1beta1', 'v1alpha2');

async function startTwo(stopLater: (stop: () => Promise<void>) => void) {
  const both = await Promise.all([startEmbeddedTarget(api), startEmbeddedTarget(api)]);
  for (const { stop } of both) stopLater(stop);
  const [first, second] = both;
  return { first: first.target, second: second.target };
}

test('finds no difference between two servers of one kind', async ({ onTestFinished }) => {
  const { first, second } = await startTwo(onTestFinished);
  await compareServers(first, second, { seed: 4355, runs: 15 });
});

test('tells the shortest sequence of requests after which two servers differ', async ({ onTestFinished }) => {
  const { first, second } = await startTwo(onTestFinished);
  const forgetful: ConformanceTarget = {
    ...second,
    // Its names of fields are lost on the way.
    async request(...asked) {
      const { code, headers, warnings, text: whole } = await second.request(...asked);
      const text = whole.replaceAll('holderIdentity', 'holder');
      return {
        ...{ code, headers, warnings, text },
        // Not every answer is JSON.
        get json() {
          return JSON.parse(text) as Body;
        },
      };
    },
  };
  const failure = await compareServers(first, forgetful, { seed: 4355, runs: 50 }).catch(String);
  expect(failure).toMatch(/differ after\n {2}1\. .*holderIdentity.*\n(?! {2}2\.)/);
  expect(failure).toMatch(/"h\d|holderIdentity/);
  expect(failure).toContain('CONFORMANCE_SEED=4355');
});
