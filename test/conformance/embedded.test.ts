import { embeddedApi, startEmbeddedTarget } from './embedded-target.ts';
import { describeConformance } from './suite.ts';

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
