import { realApi, startRealTarget } from '../conformance/real-target.ts';
import { describeConformance } from '../conformance/suite.ts';
import { kubernetesVersions } from '../control-plane/kubernetes-versions.ts';

for (const version of kubernetesVersions) {
  describeConformance(realApi(version), () => startRealTarget(version));
}
