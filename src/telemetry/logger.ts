import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import type { LogLevel } from '../config.ts';

/**
 * Structured logs, one JSON object a line. Messages are constant and everything that varies is a key, so that logs can
 * be counted by message: `logger.info({ lease, holder }, 'Elected a leader')`. An Error goes under the key `err`.
 */
export type Logger = PinoLogger;

/**
 * Makes the root logger.
 *
 * @param destination takes whole lines; the standard output if not given. That one is written synchronously: the last
 *   lines before a crash are those that matter most.
 */
export function createLogger({
  level,
  destination = pino.destination(1),
}: {
  level: LogLevel;
  destination?: DestinationStream;
}): Logger {
  return pino(
    {
      level,
      // Whoever collects logs knows the pod and its process; repeating them in each line says nothing.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}
