import { expect } from 'vitest';
import { sortedYaml } from '../chart/plain-manifests.ts';
import { coordinatorAccount } from '../control-plane/cluster-objects.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { startHelm } from './helm.ts';
import { kubectlFor } from './kubectl.ts';

/** Installs the chart's roles and ServiceAccount for some values. Resolves to a kubeconfig of that account. */
export async function installChartRoles(plane: ControlPlane, values: unknown): Promise<string> {
  const [helm, kubectl] = await Promise.all([startHelm(), kubectlFor(plane.kubeconfig)]);
  const objects = await helm.render(values);
  const { code, stderr } = await kubectl.run(['apply', '--server-side', '--filename', '-'], {
    input: sortedYaml(objects.filter(({ kind }) => /Role|ServiceAccount/.test(kind))),
  });
  expect(code, stderr).toBe(0);
  await Promise.all([helm.remove(), kubectl.remove()]);
  return plane.kubeconfigFor({ serviceAccount: coordinatorAccount });
}
