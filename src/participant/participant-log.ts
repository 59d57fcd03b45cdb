import { kindOfFailure } from '../kubernetes/errors.ts';
import { warnProcess } from '../support/host.ts';
import { messageOf } from '../support/text.ts';

/** Where a participant writes what it does: a pino logger will do. */
export interface ParticipantLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** For those who want no log. */
export const silent: ParticipantLogger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * A logger that writes to `logger` and never throws: neither leading nor releasing may depend on a log. An error of the logger is
 * logged; if the logger cannot even do that, the process warns once.
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

/** Calls something of the program's that must not stop an election, such as its metrics. What it throws is logged. */
export function callSafely(logger: ParticipantLogger, thrown: string, call: () => void): void {
  try {
    call();
  } catch (error) {
    if (logger === silent) warnProcess(`${thrown}: ${messageOf(error)}`);
    else logger.error({ err: error }, thrown);
  }
}

/** Tells of a trouble when it begins, or becomes another, not each time that something fails because of it. */
export class TroubleLog {
  readonly #logger: ParticipantLogger;
  readonly #message: string;
  #told: string | undefined;

  constructor(logger: ParticipantLogger, message: string) {
    this.#logger = logger;
    this.#message = message;
  }

  failed(error: unknown): void {
    const kind = kindOfFailure(error);
    if (kind === this.#told) return;
    this.#told = kind;
    this.#logger.warn({ err: error }, this.#message);
  }

  ended(): void {
    this.#told = undefined;
  }
}
