import { type DestinationStream, type Level, type Logger as PinoLogger, pino } from 'pino';
import { ApiError, ConnectionError } from '../kubernetes/errors.ts';
import type { LogLevel } from '../settings/settings-table.ts';
import type { Clock } from '../support/clock.ts';
import { isJsonObject } from '../support/json.ts';
import { bounded, boundedFields, printableJson } from '../support/text.ts';
import { createLogBudget } from './log-budget.ts';

/**
 * Structured logs, one JSON object per line. A message is constant, so that logs can be counted by message. All
 * variable data is in fields: `logger.info({ lease, holder }, 'Elected a leader')`. An Error is in the field `err`.
 * Text from the cluster is shortened and escaped.
 */
export type Logger = PinoLogger;

/** The root logger. Call `end` when the process ends: `end` logs how many lines were dropped since the last report. */
export interface RootLogger extends Logger {
  end(): void;
}

type LoggerOptions = {
  /** Receives complete lines. Default: the standard output. */
  readonly destination?: DestinationStream;
} & (
  | { readonly level: LogLevel; readonly clock: Clock }
  // At the level `debug`, the number of lines is not limited, so the logger needs no clock.
  | { readonly level: 'debug' }
);

const LEFT_OUT = 'Left out log lines, because there were too many';

/** Creates the root logger. Unless the level is debug, {@link createLogBudget} limits the number of lines. */
export function createLogger(options: LoggerOptions): RootLogger {
  // pino flushes its destination when the process exits. SIGKILL may lose the last lines.
  const { level, destination = pino.destination(1) } = options;
  const budget =
    'clock' in options && level !== 'debug'
      ? createLogBudget(options.clock, (lines, most) =>
          logger[pino.levels.labels[most] as Level]({ lines }, LEFT_OUT),
        )
      : undefined;
  const logger = pino(
    {
      level,
      // Omit the host and the pid: the log collector adds the name of the pod to each line.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: boundedFields },
      serializers: { err: describeError },
      ...(budget && {
        hooks: {
          logMethod(args, write, number) {
            const message = args.slice(0, 2).find((argument) => typeof argument === 'string') ?? '';
            if (message === LEFT_OUT || budget.admits(number, message, namespaceIn(args)))
              write.apply(this, args);
          },
        },
      }),
    },
    { write: (line) => destination.write(`${printableJson(line.trimEnd())}\n`) },
  );
  return Object.assign(logger, { end: () => budget?.tellNow() });
}

/** Formats the field `err`. Omits the stack of API and connection errors, because the stack does not show the cause. */
function describeError(error: unknown): unknown {
  if (error instanceof ApiError) {
    const { name, message, method, path, status, reason, retryAfterMs } = error;
    return { type: name, message, method, path, status, reason, retryAfterMs };
  }
  if (error instanceof ConnectionError) {
    const { name, message, code } = error;
    return { type: name, message, code };
  }
  return error instanceof Error ? bounded({ ...pino.stdSerializers.err(error) }) : error;
}

/** Returns the namespace in the field `lease` (`namespace/name`) of a log line; undefined if the field is no string. */
function namespaceIn([fields]: readonly unknown[]): string | undefined {
  const lease = isJsonObject(fields) ? fields['lease'] : undefined;
  return typeof lease === 'string' ? lease.slice(0, lease.indexOf('/')) : undefined;
}
