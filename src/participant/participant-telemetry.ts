import { createRequire } from 'node:module';
import type * as PromClient from 'prom-client';
import { kindOfFailure } from '../kubernetes/errors.ts';
import { warnProcess } from '../support/host.ts';
import { messageOf } from '../support/text.ts';

/** The log of a participant. A pino logger has this interface. */
export interface ParticipantLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silent: ParticipantLogger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Returns a logger that writes to `logger` and never throws, so that a failing log does not prevent the participant
 * from leading or releasing. If `logger` throws, the returned logger reports this error with `logger.error`. The first
 * time that `logger.error` throws too, the process emits a warning.
 */
export function guardedLogger(logger: ParticipantLogger): ParticipantLogger {
  if (logger === silent) return silent;
  let hasWarned = false;
  const report = (err: unknown, lost: string) => {
    try {
      logger.error({ err, lost }, 'The logger has thrown');
    } catch {
      if (!hasWarned) warnProcess(`The logger has thrown: ${messageOf(err)}`);
      hasWarned = true;
    }
  };
  const guard = (level: keyof ParticipantLogger) => (fields: object, message: string) => {
    try {
      logger[level](fields, message);
    } catch (error) {
      report(error, message);
    }
  };
  return { debug: guard('debug'), info: guard('info'), warn: guard('warn'), error: guard('error') };
}

/**
 * Calls code of the program: a callback or the metrics. If the call throws, logs the error with the message `thrown`;
 * without a logger, emits a process warning.
 */
export function callSafely(logger: ParticipantLogger, thrown: string, call: () => void): void {
  try {
    call();
  } catch (error) {
    if (logger === silent) warnProcess(`${thrown}: ${messageOf(error)}`);
    else logger.error({ err: error }, thrown);
  }
}

export type TroubleLog = ReturnType<typeof createTroubleLog>;

/**
 * Returns a log for an operation that is retried. The log skips a failure of the same kind as the previous failure,
 * unless `ended` was called between the two failures.
 */
export function createTroubleLog(logger: ParticipantLogger, message: string) {
  let lastKind: string | undefined;
  return {
    failed(error: unknown): void {
      const kind = kindOfFailure(error);
      if (kind !== lastKind) logger.warn({ err: error }, message);
      lastKind = kind;
    },
    ended(): void {
      lastKind = undefined;
    },
  };
}

/**
 * A `Registry` of prom-client. This type does not import prom-client, because a program without metrics does not need
 * to install prom-client.
 */
export interface MetricsRegistry {
  getSingleMetric(name: string): object | undefined;
  // The parameter type `never` lets this interface accept the Registry of any version of prom-client.
  registerMetric(metric: never): void;
}

export type ParticipantMetrics = ReturnType<typeof createParticipantMetrics>;

const STATUS = {
  name: 'leader_election_master_status',
  help: 'Whether this program leads: 1, or 0 while it stands by. name is the Lease.',
  labelNames: ['name'],
};
const SLOWPATH = {
  name: 'leader_election_slowpath_total',
  help: 'Renewals that failed because the Lease had changed. name is the Lease.',
  labelNames: ['name'],
};

/**
 * Creates the metrics of a Lease, or finds them in the registry. Loads prom-client only here, because a program without
 * metrics does not need to install prom-client.
 */
export function createParticipantMetrics(registry: MetricsRegistry, name: string) {
  const { Counter, Gauge } = createRequire(import.meta.url)('prom-client') as typeof PromClient;
  const registers = [registry as PromClient.Registry];
  const status = (registry.getSingleMetric(STATUS.name) ??
    new Gauge({ ...STATUS, registers })) as PromClient.Gauge;
  const slowpath = (registry.getSingleMetric(SLOWPATH.name) ??
    new Counter({ ...SLOWPATH, registers })) as PromClient.Counter;
  status.set({ name }, 0);
  slowpath.inc({ name }, 0);
  return {
    leads: (isLeading: boolean) => status.set({ name }, isLeading ? 1 : 0),
    /** Counts a renewal that failed with a conflict. client-go's metric also counts retries after other failures. */
    slowpathExercised: () => slowpath.inc({ name }),
  };
}
