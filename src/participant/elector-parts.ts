import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Clock } from '../support/clock.ts';
import type { ElectorTiming } from './elector-decision.ts';
import type { ParticipantLogger } from './participant-log.ts';
import type { ParticipantMetrics } from './participant-metrics.ts';
import type { Term } from './term.ts';

/** What an Elector needs. */
export interface ElectorParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly lease: Term['lease'];
  /** Of no other running program. */
  readonly identity: string;
  readonly timing: ElectorTiming;
  readonly logger?: ParticipantLogger;
  readonly metrics?: ParticipantMetrics | undefined;
  /** Whether it only follows the Lease: the program leads by an elector of its own. Default false. */
  readonly isFollowing?: boolean;
  /** `holder` and `term` may have changed. */
  readonly onChange?: () => void;
}
