import type { ServerResponse } from 'node:http';
import { type Term, TermOver } from '../../participant/term.ts';
import type { Clock, Instant } from '../../support/clock.ts';
import { untilAborted } from '../../support/host.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { EVENT_STREAM, eventText, MAX_PROMISE_MS, MAX_STREAMS } from './leadership.ts';

/** A program's open request for the lead. */
interface Program {
  readonly response: ServerResponse;
  /** When the sidecar received the request. The program sent it before. */
  readonly askedAt: Instant;
  readonly closed: Promise<void>;
}

/** What the program with the lead is told. */
interface LeadAccount {
  /** The Lease, `namespace/name`. */
  readonly lease: string;
  readonly holder: string;
  /** False: the program has to stop, and to close its connection when it has stopped. */
  readonly leading: boolean;
  /** Why the program has to stop. */
  readonly why?: string;
  readonly fencingToken: number;
  /** Until when the program may lead, in milliseconds from when it asked, on the monotonic clock of the machine. */
  readonly validUntilMs: number;
}

export interface LeadConnectionsParts {
  readonly clock: Clock;
  /** The Lease, `namespace/name`. */
  readonly lease: string;
  /** The interval of repeats, in milliseconds: what is told must not expire while the Lease is renewed. */
  readonly repeatMs: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Gives up leadership: the program with the lead has closed its connection. */
  readonly resign: () => void;
  /** Called when the first program asks, and when the last one has closed its connection. */
  readonly onChange: () => void;
}

/**
 * The connections by which programs ask for the lead and have it (rule 18). One program at a time has it, from the beginning
 * of a term until it closes its connection. The Lease is not released before. The others wait, in the order in which they
 * asked.
 */
export class LeadConnections {
  readonly #parts: LeadConnectionsParts;
  readonly #waiting = new Set<Program>();
  /** The program that was given the lead, until it closes its connection. */
  #leader: Program | undefined;

  constructor(parts: LeadConnectionsParts) {
    this.#parts = parts;
  }

  /** Whether a program waits for the lead or has it. */
  get hasProgram(): boolean {
    return this.#leader !== undefined || this.#waiting.size > 0;
  }

  /** Holds the request of a program. Its answer begins when the program has the lead. */
  join(response: ServerResponse): void {
    if (this.#waiting.size >= MAX_STREAMS) {
      endWith(response, 'too many wait for the lead already\n');
      return;
    }
    const { clock, logger, onChange } = this.#parts;
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const program = { response, askedAt: clock.now(), closed };
    const isFirst = !this.hasProgram;
    this.#waiting.add(program);
    response.on('close', () => {
      this.#leave(program);
      resolve();
    });
    response.on('error', () => {});
    if (isFirst) onChange();
    else logger.warn('A program asks for the lead, and waits until another one has closed its connection');
  }

  /** Gives the lead to a program. Resolves when the term is over and the program has closed its connection. */
  async lead(term: Term): Promise<void> {
    const [program] = this.#waiting;
    if (!program) return untilAborted(term.signal);
    this.#waiting.delete(program);
    this.#leader = program;
    program.response.writeHead(200, { ...EVENT_STREAM, Connection: 'close' });
    const endRepeats = this.#tellRepeatedly(program, term);
    await Promise.all([untilAborted(term.signal), program.closed]);
    endRepeats();
  }

  /** Refuses the programs that wait. The program with the lead, if there is one, keeps its connection. */
  close(): void {
    for (const { response } of this.#waiting) endWith(response, 'the sidecar stops\n');
  }

  #leave(program: Program): void {
    const { logger, resign, onChange } = this.#parts;
    this.#waiting.delete(program);
    if (program === this.#leader) {
      this.#leader = undefined;
      logger.info('The program with the lead has closed its connection');
      resign();
    }
    if (!this.hasProgram) onChange();
  }

  /** Tells the program of the term at once, at its end, and in between. The returned function ends this. */
  #tellRepeatedly(program: Program, term: Term): () => void {
    const { clock, repeatMs } = this.#parts;
    const { response } = program;
    const tell = (event: 'change' | 'heartbeat') => {
      if (!response.destroyed) response.write(eventText(event, this.#account(program, term)));
    };
    const repeat = () => {
      // A program that does not read needs no second repeat.
      if (response.writableLength === 0) tell('heartbeat');
      cancel = clock.setTimer(repeat, repeatMs);
    };
    const end = () => tell('change');
    let cancel = clock.setTimer(repeat, repeatMs);
    tell('change');
    term.signal.addEventListener('abort', end, { once: true });
    return () => {
      cancel();
      term.signal.removeEventListener('abort', end);
    };
  }

  #account({ askedAt }: Program, term: Term): LeadAccount {
    const { clock, lease } = this.#parts;
    const { holder, fencingToken, signal } = term;
    const now = clock.now();
    const remainingMs = Math.min(term.remainingMs(), MAX_PROMISE_MS);
    const validUntilMs = Math.floor(now - askedAt + remainingMs);
    if (!signal.aborted && remainingMs > 0)
      return { lease, holder, leading: true, fencingToken, validUntilMs };
    const why = signal.reason instanceof TermOver ? signal.reason.why : 'lost';
    return { lease, holder, leading: false, why, fencingToken, validUntilMs };
  }
}

/** Refuses a request that waits: the program may ask again. */
function endWith(response: ServerResponse, body: string): void {
  response
    .writeHead(503, { 'Content-Type': 'text/plain', 'Retry-After': '1', Connection: 'close' })
    .end(body);
}
