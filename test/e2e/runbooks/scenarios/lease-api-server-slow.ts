import type { Site } from '../site.ts';
import { startSlowWebhook } from '../slow-webhook.ts';

const ALERT = 'LeaseApiServerSlow';

/**
 * A policy is rolled out whose webhook looks at every write of a Lease, and takes 1.5 s for each. The FlowSchema is off, as by
 * default.
 */
export async function leaseApiServerSlow(site: Site): Promise<void> {
  const { plane } = site.cluster;
  const runbook = await site.runbook(ALERT);
  const webhook = await startSlowWebhook(plane, 'slow-policy', 1500);
  try {
    await site.untilFiring(ALERT);

    await runbook.follow('ACTIVE=', [
      /^rest_client_request_duration_seconds_count\{verb="(?:update|patch)"\} [1-9]/m,
      /^cle_request_limit /m,
      /^cle_leases_waiting_to_write\{urgency="grant"\} /m,
    ]);
    await runbook.follow(
      'kubectl get --raw /metrics',
      /^1\.[5-9] s apiserver_admission_webhook_admission_duration_seconds\{name="slow-policy\.example\.com"/m,
    );
    await runbook.follow('dump_priority_levels', [/WaitingRequests/, /^leader-election, /m]);
    await runbook.follow('kubectl get validatingwebhookconfigurations', /slow-policy/);
    await runbook.follow('kubectl get "$CONFIGURATION"', [/- leasecandidates$/m, /url: https:/]);
    await runbook.act('kubectl patch', /patched/);
    await site.untilClear(ALERT);

    await runbook.follow('kubectl get flowschemas', /No resources found/);
    await runbook.act('helm upgrade', /has been upgraded/);
    await runbook.follow('kubectl get flowschemas', /coordinated-leader-election +leader-election .*False$/m);
  } finally {
    await webhook.stop();
  }
}
