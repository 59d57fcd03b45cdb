import { lookAtLock } from '../inspection/evidence.ts';
import { accountFor } from '../inspection/lease-account.ts';
import type { ExplainSettings } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { accountText } from './account-text.ts';
import { tellOfSkew, withCluster } from './cluster-connection.ts';
import { exitCode } from './exit-code.ts';
import { findElection } from './find-election.ts';
import { layoutFor } from './layout.ts';
import { structured } from './structured-output.ts';

/** Shows why a Lease is led by whom it is led; resolves to an exit code. */
export function showExplanation(leaseName: string, settings: ExplainSettings, host: Host): Promise<number> {
  return withCluster(settings, host, async (connection) => {
    const [{ election, now }, lock] = await Promise.all([
      findElection(leaseName, settings, connection),
      lookAtLock(connection.client, connection.clock, settings.lockNamespace),
    ]);
    tellOfSkew(connection.clock, host);
    const account = accountFor(election, lock, now);
    const { output } = settings;
    host.stdout.write(
      output === 'json' || output === 'yaml'
        ? structured(account, output)
        : accountText(account, layoutFor(host)),
    );
    return exitCode.ok;
  });
}
