import { coordinatorAccount, createNamespaces } from '../../../control-plane/cluster-objects.ts';
import { startSimCandidates } from '../../../control-plane/sim-candidate.ts';
import type { Site } from '../site.ts';

const ALERT = 'LeaseCoordinatorWriteErrors';
const { namespace, name } = coordinatorAccount;
const busy = 'busy';

/** The permission to write Leases is removed; then a policy refuses the coordinator's writes. */
export async function leaseCoordinatorWriteErrors(site: Site): Promise<void> {
  const { plane } = site.cluster;
  await createNamespaces(plane, busy);
  const candidates = await startSimCandidates(plane);
  try {
    await rightIsMissing(site, async () => {
      // Leases whose leaders never renew, so that there is always something to write.
      for (let index = 1; index <= 12; index += 1) {
        await candidates.start({ namespace: busy, lease: `lease-${index}`, name: `candidate-${index}` });
      }
    });
    await admissionRefuses(site);
  } finally {
    candidates.stop();
  }
}

async function rightIsMissing(site: Site, beginElections: () => Promise<void>): Promise<void> {
  const { plane } = site.cluster;
  const runbook = await site.runbook(ALERT);
  const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  await plane.request('DELETE', `${bindings}/${name}-leases`);
  await beginElections();
  await site.untilFiring(ALERT);

  await runbook.follow('"Write failed"', /403 .*is forbidden: User .* cannot (?:create|patch)/);
  await runbook.follow('auth can-i patch', { code: 1, output: /^no$/m });
  await runbook.follow('kubectl get clusterrolebindings', [
    new RegExp(`${name}-candidates `),
    new RegExp(`${name}-events `),
    new RegExp(`^(?![^]*${name}-leases )`),
  ]);
  await runbook.act('helm upgrade', /has been upgraded/);
  await runbook.follow('auth can-i create', /^yes$/m);
  await site.untilClear(ALERT);
}

async function admissionRefuses(site: Site): Promise<void> {
  const { plane } = site.cluster;
  const runbook = await site.runbook(ALERT);
  const group = '/apis/admissionregistration.k8s.io/v1';
  const metadata = { name: 'leases-by-hand-only' };
  await plane.request('POST', `${group}/validatingadmissionpolicies`, {
    metadata,
    spec: {
      matchConstraints: {
        namespaceSelector: {
          matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: [busy] }],
        },
        resourceRules: [
          {
            apiGroups: ['coordination.k8s.io'],
            apiVersions: ['*'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['leases'],
          },
        ],
      },
      validations: [
        { expression: "!request.userInfo.username.startsWith('system:serviceaccount:')", message: 'No.' },
      ],
    },
  });
  await plane.request('POST', `${group}/validatingadmissionpolicybindings`, {
    metadata,
    spec: { policyName: metadata.name, validationActions: ['Deny'] },
  });
  await site.untilFiring(ALERT);

  await runbook.follow('"Write failed"', /'leases-by-hand-only' with binding .* denied request/);
  await runbook.follow('kubectl get validatingadmissionpolicies', /leases-by-hand-only/);
  await runbook.follow('kubectl get validatingadmissionpolicy "$POLICY"', /expression: '!request\.userInfo/);
  await runbook.act('kubectl patch', /patched/);
  await site.untilClear(ALERT);
  // Without the policy, the coordinator still lacks other permissions.
  const { spec } = await plane.request<{ spec: { matchConditions: { expression: string }[] } }>(
    'GET',
    `${group}/validatingadmissionpolicies/${metadata.name}`,
  );
  const account = `system:serviceaccount:${namespace}:${name}`;
  if (!spec.matchConditions[0]?.expression.includes(account)) throw new Error('nobody was exempted');
}
