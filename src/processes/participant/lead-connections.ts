import type { ServerResponse } from 'node:http';
import { type Term, TermOver } from '../../participant/term.ts';
import { type Clock, type Instant, repeat } from '../../support/clock.ts';
import { untilAborted } from '../../support/host.ts';
import type { Logger } from '../../telemetry/logger.ts';

/** Maximum time in ms for which one message on a connection, or one answer of `/leader`, lets a program lead. */
export const MAX_PROMISE_MS = 5000;

/** Maximum number of programs that wait for the lead. The sidecar refuses further requests with 503. */
const MAX_WAITING = 64;

/**
 * Interval of the checks that detect a pause of the sidecar, in milliseconds. After two intervals without a check, the
 * sidecar refuses requests. So the sidecar reads an accepted request at most 2 s after its arrival. This leaves at
 * least 3 s of each permission of 5 s: 2 s until the next message, and 1 s in reserve.
 */
const PAUSE_CHECK_MS = 1000;

/** The headers of a stream of server-sent events. Proxies must not buffer this stream. */
const EVENT_STREAM = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Accel-Buffering': 'no',
  Connection: 'close',
} as const;

/** A program's open request for the lead. */
interface Program {
  readonly response: ServerResponse;
  /** When the sidecar received the request. The program sent it earlier. */
  readonly askedAt: Instant;
  readonly closed: Promise<void>;
}

interface LeadConnectionsParts {
  readonly clock: Clock;
  /** The Lease, as `namespace/name`. */
  readonly lease: string;
  /**
   * Interval of messages to the leading program, in milliseconds. While the elector renews the Lease, each message must
   * arrive before the permission of the previous message ends.
   */
  readonly repeatMs: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Called when the leading program has closed its connection. Gives up the lead. */
  readonly resign: () => void;
  /** Called when the first program connects, and when the last one has closed its connection. */
  readonly onChange: () => void;
}

/**
 * The connections by which programs ask for the lead and keep it (rule 18). One program at a time has the lead, from
 * the beginning of a term until this program closes its connection. The sidecar releases the Lease only after that.
 * Other programs wait in the order of their requests.
 */
export class LeadConnections {
  readonly #parts: LeadConnectionsParts;
  readonly #waiting = new Set<Program>();
  /** The program that leads in this term, or has led. Set until that program closes its connection. */
  #leader: Program | undefined;
  /**
   * When the last check for pauses ran; until the first check, when `watchPauses` was called. Infinity before that
   * call, so that no check counts as late.
   */
  #checkedAt: Instant = Number.POSITIVE_INFINITY;
  #wasPaused = false;

  constructor(parts: LeadConnectionsParts) {
    this.#parts = parts;
  }

  /** Whether a program is connected: it waits, leads, or has led in this term. */
  get hasProgram(): boolean {
    return this.#leader !== undefined || this.#waiting.size > 0;
  }

  /**
   * Starts the checks that detect a pause of this process; the returned function ends them. The sidecar refuses a
   * request that may have waited in its socket during a pause. All permissions for such a request might be over before
   * the program reads them, because they count from the time at which the program sent the request.
   */
  watchPauses(): () => void {
    const { clock } = this.#parts;
    this.#checkedAt = clock.now();
    return repeat(clock, PAUSE_CHECK_MS, () => {
      this.#wasPaused = this.#isCheckLate();
      this.#checkedAt = clock.now();
    });
  }

  /** Lets a program wait for the lead. Refuses its request after a pause, or if too many programs wait. */
  join(response: ServerResponse): void {
    const { clock, logger, onChange } = this.#parts;
    // After a pause, refuse requests until a check is on time. By then, the sidecar has read all requests from the pause.
    if (this.#wasPaused || this.#isCheckLate()) {
      logger.info('Refused a request for the lead: it may have waited while this sidecar was paused');
      endWith(response, 'the sidecar was paused, so the request may be old; retry now\n');
      return;
    }
    if (this.#waiting.size >= MAX_WAITING) {
      endWith(response, 'too many programs wait for the lead; retry later\n');
      return;
    }
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
    else logger.warn('A program asks for the lead while another one is connected: it waits');
  }

  /** Lets the first waiting program (if any) lead. Resolves when the term is over and this program is disconnected. */
  async lead(term: Term): Promise<void> {
    const [program] = this.#waiting;
    if (!program) return untilAborted(term.signal);
    this.#waiting.delete(program);
    this.#leader = program;
    const { clock, repeatMs } = this.#parts;
    const { response, closed } = program;
    const tell = (event: 'change' | 'heartbeat') => {
      const data = JSON.stringify(this.#account(program, term));
      if (!response.destroyed) response.write(`event: ${event}\ndata: ${data}\n\n`);
    };
    response.writeHead(200, EVENT_STREAM);
    tell('change');
    const endRepeats = repeat(clock, repeatMs, () => {
      // If the program does not read, the previous message may still be in the buffer. Then skip this message.
      if (response.writableLength === 0) tell('heartbeat');
    });
    term.signal.addEventListener('abort', () => tell('change'), { once: true });
    await Promise.all([untilAborted(term.signal), closed]);
    endRepeats();
  }

  /** Refuses the waiting programs, because the sidecar stops. The leading program keeps its connection. */
  close(): void {
    for (const { response } of this.#waiting) endWith(response, 'the sidecar stops\n');
  }

  #isCheckLate(): boolean {
    return this.#parts.clock.now() - this.#checkedAt > 2 * PAUSE_CHECK_MS;
  }

  #leave(program: Program): void {
    const { logger, resign, onChange } = this.#parts;
    this.#waiting.delete(program);
    if (program === this.#leader) {
      this.#leader = undefined;
      logger.info('The leading program has closed its connection');
      resign();
    }
    if (!this.hasProgram) onChange();
  }

  /**
   * Returns the message to a program. If `leading` is false, the program must stop its work, and then close its
   * connection.
   */
  #account({ askedAt }: Program, term: Term) {
    const { clock, lease } = this.#parts;
    const { holder, fencingToken, signal } = term;
    const now = clock.now();
    const remainingMs = Math.min(term.remainingMs(), MAX_PROMISE_MS);
    const leading = !signal.aborted && remainingMs > 0;
    const why = signal.reason instanceof TermOver ? signal.reason.why : 'lost';
    // The program counts these milliseconds from when it sent its request. The sidecar counts from when it received the
    // request, which is later. So the permission may end a little early, but never late.
    const validUntilMs = Math.floor(now - askedAt + remainingMs);
    return { lease, holder, leading, ...(!leading && { why }), fencingToken, validUntilMs };
  }
}

/** Refuses a request with 503. The program may retry. */
function endWith(response: ServerResponse, body: string): void {
  response
    .writeHead(503, { 'Content-Type': 'text/plain', 'Retry-After': '1', Connection: 'close' })
    .end(body);
}
