import type { LabelObserver } from '../controller/leader-label/leader-labels.ts';
import type { Instant } from '../election/time.ts';
import { kindOfFailure } from '../kubernetes/errors.ts';
import { createThrottle } from '../support/backoff.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/** Logs and measures what becomes of leader labels. */
export function createLabelReport({
  logger,
  metrics,
  now,
}: {
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'labels'>;
  readonly now: () => Instant;
}): LabelObserver {
  const isNew = createThrottle(now);
  return {
    labelWritten(lease, { kind, pod }, error) {
      metrics.labels.called(kind, error === undefined);
      const fields = { lease, pod: pod.name, action: kind };
      if (error === undefined) logger.info(fields, 'Wrote a leader label');
      else if (isNew(kind, kindOfFailure(error)))
        logger.warn({ ...fields, err: error }, 'Writing a leader label failed');
    },
    labelsListed(error) {
      metrics.labels.called('list', error === undefined);
      if (error !== undefined && isNew('list', kindOfFailure(error)))
        logger.warn({ err: error }, 'Listing Pods for leader labels failed: none is written before that');
    },
    unlabelable: (lease) =>
      logger.warn(
        { lease },
        'The name of the Lease is longer than the 63 characters of a label: its leader gets no label',
      ),
  };
}
