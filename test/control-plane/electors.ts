import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { binary } from './binaries.ts';

/** A program that takes part in elections, with client-go's own candidate and elector. */
export interface ElectorSpec {
  /** Its name in commands and events. It may be reused after the program has ended. */
  readonly id: string;
  /** Default `default`. */
  readonly namespace?: string;
  readonly lease: string;
  /** The name of its LeaseCandidate and its identity in the Lease; default: its id. */
  readonly name?: string;
  /** Default `1.36.0`. */
  readonly binaryVersion?: string;
  /** Default: its binaryVersion. */
  readonly emulationVersion?: string;
  /** Default `OldestEmulationVersion`. */
  readonly strategy?: string;
  /**
   * `plain`: an elector without coordination and without a LeaseCandidate. The last two are one half of
   * `coordinated`, the default.
   */
  readonly mode?: 'coordinated' | 'plain' | 'candidate-only' | 'elector-only';
  /** In Go's notation; default `15s`. */
  readonly leaseDuration?: string;
  /** Default `10s`. */
  readonly renewDeadline?: string;
  /** Default `2s`. */
  readonly retryPeriod?: string;
  /** Whether client-go empties the Lease when its elector ends, for any reason; default true. */
  readonly releaseOnCancel?: boolean;
  /**
   * Whether it continues under the same name after it has lost the Lease; by default it exits, as Kubernetes's own
   * programs do.
   */
  readonly restart?: boolean;
}

/** A report of an elector. An id leads a Lease from its `startedLeading` to its `stoppedLeading` or `crashed`. */
export interface ElectorEvent {
  readonly id: string;
  readonly event:
    | 'candidateCreated'
    | 'candidateRenewed'
    | 'startedLeading'
    | 'stoppedLeading'
    | 'newLeader'
    | 'error'
    | 'crashed'
    | 'ended';
  /** RFC 3339 with nanoseconds; the same instant as `wallMicros`. */
  readonly time: string;
  /** Microseconds since the Unix epoch. */
  readonly wallMicros: number;
  /** The identity that leads now, `''` for none: for `newLeader`. */
  readonly leader?: string;
  /** For `error`. */
  readonly message?: string;
}

/** The event to wait for: all given fields must be equal. */
export type ElectorEventPattern = Partial<Pick<ElectorEvent, 'id' | 'event' | 'leader'>>;

/**
 * Many real candidates in one process. Every command resolves when it has taken effect, and rejects if it is refused.
 */
export interface Electors {
  readonly pid: number;
  /** All events so far, in order. Its length can be passed to `waitFor`. */
  readonly events: readonly ElectorEvent[];
  start(spec: ElectorSpec): Promise<void>;
  /** Ends the candidate as SIGKILL would: it no longer renews, answers or releases. */
  crash(id: string): Promise<void>;
  /**
   * Ends its elector cleanly, which empties the Lease if it holds it. Its LeaseCandidate stays without answering
   * (`stop`, the default, like a program that exits), continues to answer (`keep`), or is deleted (`delete`).
   * Resolves when this begins; the event `ended` reports its end.
   */
  release(id: string, candidate?: 'stop' | 'keep' | 'delete'): Promise<void>;
  /**
   * Resolves to the first matching event, past or future; `since` skips that many of the earliest.
   * @throws Error if there is none within `timeoutMs`, default 30 s
   */
  waitFor(
    pattern: ElectorEventPattern,
    options?: { readonly since?: number; readonly timeoutMs?: number },
  ): Promise<ElectorEvent>;
  /** The ids that believe that they lead their Leases. */
  leading(): string[];
  /** Kills the process, which crashes all candidates. */
  stop(): Promise<void>;
}

interface Answer {
  readonly event: 'accepted' | 'refused';
  readonly seq: number;
  readonly message?: string;
}

interface Waiter {
  readonly matches: (event: ElectorEvent) => boolean;
  readonly resolve: (event: ElectorEvent) => void;
  readonly reject: (error: Error) => void;
}

/** Starts a process without candidates. All its candidates will use `kubeconfig`. It ends with this process. */
export async function startElectors(kubeconfig: string): Promise<Electors> {
  const path = await binary('elector');
  // It exits by itself when its standard input closes, so it needs no reaper.
  const child = spawn(path, ['--kubeconfig', kubeconfig], { stdio: ['pipe', 'pipe', 'pipe'] });
  const events: ElectorEvent[] = [];
  const pending = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  const waiters = new Set<Waiter>();
  let sequence = 0;
  let complaints = '';
  let end: Error | undefined;

  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-4_000);
  });
  child.stdin.on('error', () => {}); // The end of the process reports the error.
  const ended = new Promise<void>((resolve) => {
    const fail = (problem: string) => {
      end = new Error(`the electors' process ${problem} ${complaints.trim()}`.trim());
      for (const { reject } of [...pending.values(), ...waiters]) reject(end);
      pending.clear();
      waiters.clear();
      resolve();
    };
    child.once('error', (error) => fail(`cannot be started: ${error.message}`));
    child.once('close', (code, signal) => fail(`has ended (${signal ?? `code ${code}`})`));
  });
  const { pid } = child;
  if (pid === undefined) {
    await ended;
    throw end;
  }

  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as ElectorEvent | Answer;
    if (isAnswer(message)) answered(message);
    else happened(message.event === 'newLeader' ? { leader: '', ...message } : message);
  });

  function answered({ event, seq, message }: Answer): void {
    const command = pending.get(seq);
    pending.delete(seq);
    if (event === 'accepted') command?.resolve();
    else command?.reject(new Error(message));
  }

  function happened(event: ElectorEvent): void {
    events.push(event);
    for (const waiter of waiters) {
      if (!waiter.matches(event)) continue;
      waiters.delete(waiter);
      waiter.resolve(event);
    }
  }

  function send(op: string, fields: object): Promise<void> {
    if (end !== undefined) return Promise.reject(end);
    sequence += 1;
    const seq = sequence;
    return new Promise((resolve, reject) => {
      pending.set(seq, { resolve, reject });
      child.stdin.write(`${JSON.stringify({ op, seq, ...fields })}\n`);
    });
  }

  return {
    pid,
    events,
    start: (spec) => send('start', withDefaults(spec)),
    crash: (id) => send('crash', { id }),
    release: (id, candidate = 'stop') => send('release', { id, candidate }),
    waitFor(pattern, { since = 0, timeoutMs = 30_000 } = {}) {
      const matches = (event: ElectorEvent) =>
        Object.entries(pattern).every(
          ([field, value]) => event[field as keyof ElectorEventPattern] === value,
        );
      const past = events.slice(since).find(matches);
      if (past !== undefined) return Promise.resolve(past);
      if (end !== undefined) return Promise.reject(end);
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          matches,
          resolve: (event) => {
            clearTimeout(timer);
            resolve(event);
          },
          reject: (error) => {
            clearTimeout(timer);
            reject(error);
          },
        };
        const timer = setTimeout(() => {
          waiters.delete(waiter);
          const latest = events.slice(-5).map((event) => JSON.stringify(event));
          const wanted = JSON.stringify(pattern);
          reject(
            new Error(`no elector reported ${wanted} within ${timeoutMs} ms; latest: ${latest.join(', ')}`),
          );
        }, timeoutMs);
        waiters.add(waiter);
      });
    },
    leading() {
      const ids = new Set<string>();
      for (const { id, event } of events) {
        if (event === 'startedLeading') ids.add(id);
        else if (event === 'stoppedLeading' || event === 'crashed') ids.delete(id);
      }
      return [...ids];
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

function isAnswer(message: ElectorEvent | Answer): message is Answer {
  return message.event === 'accepted' || message.event === 'refused';
}

function withDefaults(spec: ElectorSpec): Required<ElectorSpec> {
  const binaryVersion = spec.binaryVersion ?? '1.36.0';
  return {
    namespace: 'default',
    name: spec.id,
    emulationVersion: binaryVersion,
    strategy: 'OldestEmulationVersion',
    mode: 'coordinated',
    leaseDuration: '15s',
    renewDeadline: '10s',
    retryPeriod: '2s',
    releaseOnCancel: true,
    restart: false,
    ...spec,
    binaryVersion,
  };
}
