import { kindOfFailure } from '../kubernetes/errors.ts';

/** Where a participant writes what it does: a pino logger will do. */
export interface ParticipantLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** For those who want no log. */
export const silent: ParticipantLogger = { debug() {}, info() {}, warn() {}, error() {} };

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
