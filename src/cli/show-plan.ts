import { readFileSync } from 'node:fs';
import {
  forecastRollout,
  type Manifest,
  plannedChanges,
  plannedRollout,
} from '../inspection/planned-changes.ts';
import { rehearse } from '../inspection/rehearsal.ts';
import type { PlanSettings } from '../settings/inspection-settings.ts';
import type { Host } from '../support/host.ts';
import { printable, shortened } from '../support/text.ts';
import { tellOfSkew, withCluster } from './cluster-connection.ts';
import { exitCode } from './exit-code.ts';
import { findElection } from './find-election.ts';
import { layoutFor } from './layout.ts';
import { showRollout } from './show-rollout.ts';
import { stepLines } from './step-lines.ts';
import { structured } from './structured-output.ts';

/** Shows what changes of the candidates would come to, step by step, without making any; resolves to an exit code. */
export async function showPlan(leaseName: string, settings: PlanSettings, host: Host): Promise<number> {
  const { file, add, remove, priority, rollout, output } = settings;
  // One after the other: the standard input is read once, however often it is named.
  const manifests: Manifest[] = [];
  for (const path of new Set(file)) manifests.push({ path, text: await readManifest(path, host) });
  return await withCluster(settings, host, async (connection) => {
    const { election, now } = await findElection(leaseName, settings, connection);
    tellOfSkew(connection.clock, host);
    const { input } = election;
    if (rollout !== undefined) {
      const planned = plannedRollout(rollout, input);
      const forecasts = forecastRollout(input, now, planned);
      showRollout(`${input.namespace}/${input.name}`, planned, forecasts, output, host);
      return exitCode.ok;
    }
    const changes = plannedChanges({ add, remove, priority, manifests }, input);
    const rehearsal = rehearse(input, now, changes);
    if (output === 'json' || output === 'yaml') {
      host.stdout.write(structured(rehearsal, output));
      return exitCode.ok;
    }
    const { paint } = layoutFor(host);
    const before = input.lease?.holderIdentity || 'nobody';
    const title = `${input.namespace}/${input.name}, held by ${shortened(printable(before), 100)}. Nothing is changed; this is what would happen:`;
    host.stdout.write(`${[paint('strong', title), ...stepLines(rehearsal, paint)].join('\n')}\n`);
    return exitCode.ok;
  });
}

async function readManifest(file: string, { stdin }: Host): Promise<string> {
  if (file !== '-') {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw new Error('cannot read the file given with -f', { cause: error });
    }
  }
  let text = '';
  for await (const chunk of stdin) text += String(chunk);
  return text;
}
