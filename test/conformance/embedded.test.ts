import { afterAll, beforeAll, describe, test } from 'vitest';
import { candidateCases } from './candidate-cases.ts';
import { candidateJudge } from './candidate-table.ts';
import { embeddedApi, startEmbeddedTarget } from './embedded-target.ts';
import { describeConformance } from './suite.ts';
import type { RunningTarget } from './target.ts';
import { mediaTypes } from './workspace.ts';

const latest = embeddedApi('v1beta1', 'v1alpha2');
describeConformance(latest, () => startEmbeddedTarget(latest));

const first = embeddedApi('v1alpha1');
describeConformance(first, () => startEmbeddedTarget(first), [
  'candidates',
  'candidate versions',
  'table',
  'discovery',
  'openapi',
]);

describe.each(['v1beta1', 'v1alpha1'] as const)(
  'LeaseCandidates of both groups, native ones in %s',
  (version) => {
    let running: RunningTarget;
    beforeAll(async () => {
      running = await startEmbeddedTarget(embeddedApi(version));
    });
    afterAll(() => running?.stop());

    const judge = candidateJudge(version, async (method, path, body) => {
      const contentType = method === 'PATCH' ? mediaTypes.mergePatch : 'application/json';
      const sent = body === undefined ? {} : { body, contentType };
      const { code, text } = await running.target.request(method, path, sent);
      return { status: code, text };
    });

    // The embedded server accepts no native object with a number beyond 2^53, as its documentation says.
    const cases = candidateCases.filter(({ spec }) => spec?.['binaryVersion'] !== '18446744073709551615.0.0');

    test.for(cases)('$name', (each) => judge.expectCase(each));
  },
);
