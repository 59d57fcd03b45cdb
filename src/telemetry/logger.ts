import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { ApiError, ConnectionError } from '../kubernetes/errors.ts';
import type { LogLevel } from '../settings/settings-table.ts';
import type { Clock } from '../support/clock.ts';
import { isJsonObject } from '../support/json.ts';
import { bounded, boundedFields, printableJson } from '../support/text.ts';
import { type LimitedLevel, LogBudget } from './log-budget.ts';

/**
 * Structured logs, one JSON object a line. Messages are constant and everything that varies is a key, so that logs can
 * be counted by message: `logger.info({ lease, holder }, 'Elected a leader')`. An Error goes under the key `err`. Text that
 * others wrote is shortened, and written so that a terminal may show it.
 */
export type Logger = PinoLogger;

/** A logger that is ended when there is nothing more to log. */
export interface RootLogger extends Logger {
  /** Tells at once what lines were left out since that was last told. */
  end(): void;
}

type LoggerOptions = {
  /** Takes whole lines; the standard output if not given. */
  readonly destination?: DestinationStream;
} & (
  | { readonly level: LogLevel; readonly clock: Clock }
  // Whoever asks for all of it gets all of it.
  | { readonly level: 'debug' }
);

const LEFT_OUT = 'Left out lines of which there were too many';

/** Makes the root logger. Unless its level is debug, lines that come too often are counted instead: {@link LogBudget}. */
export function createLogger(options: LoggerOptions): RootLogger {
  // Written synchronously: the last lines before a crash are those that matter most.
  const { level, destination = pino.destination(1) } = options;
  const budget =
    'clock' in options && level !== 'debug'
      ? new LogBudget(options.clock, ({ level: most, lines }) => logger[most]({ lines }, LEFT_OUT))
      : undefined;
  const logger = pino(
    {
      level,
      // Whoever collects logs knows the pod and its process; repeating them in each line says nothing.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: boundedFields },
      serializers: { err: describeError },
      ...(budget && {
        hooks: {
          logMethod(args, write, number) {
            const message = messageIn(args);
            const isAdmitted =
              message === LEFT_OUT || budget.admits(levelOf(number), message, namespaceIn(args));
            if (isAdmitted) write.apply(this, args);
          },
        },
      }),
    },
    { write: (line) => destination.write(`${printableJson(line.trimEnd())}\n`) },
  );
  return Object.assign(logger, { end: () => budget?.tellNow() });
}

/** What is logged under the key `err`. An answer of a server, or that there was none, says nothing about our code. */
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

function messageIn([first, second]: readonly unknown[]): string {
  return typeof first === 'string' ? first : typeof second === 'string' ? second : '';
}

/** The namespace of the Lease that a line is about. */
function namespaceIn([fields]: readonly unknown[]): string | undefined {
  const lease = isJsonObject(fields) ? fields['lease'] : undefined;
  return typeof lease === 'string' ? lease.slice(0, lease.indexOf('/')) : undefined;
}

function levelOf(number: number): LimitedLevel {
  const label = pino.levels.labels[number];
  return label === 'warn' || label === 'error' || label === 'fatal' ? label : 'info';
}
