import type { Participant } from '../../participant/participant.ts';
import type { ListenAddress } from '../../support/address.ts';
import type { Clock } from '../../support/clock.ts';
import type { HttpServer } from '../http-answers.ts';
import { startHttpServer } from '../http-endpoints.ts';

/** What a {@link serveHealth} tells of. */
export interface ParticipantHealthParts {
  readonly clock: Clock;
  readonly participant: Pick<Participant, 'published' | 'state'>;
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
}

/**
 * Tells probes whether a participant could be elected: it is ready once its LeaseCandidate is published, whoever leads. Whether
 * the API server can be reached at present does not matter.
 *
 * @throws {Error} that names the address and what to do, when it cannot listen there.
 */
export function serveHealth(
  listen: ListenAddress,
  { clock, participant, metrics }: ParticipantHealthParts,
): Promise<HttpServer> {
  let isPublished = false;
  void participant.published.then(() => {
    isPublished = true;
  });
  return startHttpServer(listen, {
    clock,
    metrics,
    livenessChecks: () => [],
    readinessChecks: () => {
      const { isStanding } = participant.state;
      if (isPublished && isStanding) return [{ name: 'candidate', ok: true }];
      const message = isStanding ? 'the LeaseCandidate is not published yet' : 'it is withdrawn';
      return [{ name: 'candidate', ok: false, message }];
    },
  });
}
