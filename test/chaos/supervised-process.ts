import { setTimeout as sleep } from 'node:timers/promises';
import type { Reaper } from '../control-plane/reaper.ts';
import { type ServerCommand, type ServerProcess, startServer } from '../control-plane/server-process.ts';
import type { Journal, JournalEntry, Role } from './journal.ts';

/** One process from start to exit. */
export interface Life {
  readonly command: ServerCommand;
  /** For the journal. */
  readonly facts: Pick<Extract<JournalEntry, { kind: 'started' }>, 'name' | 'lease' | 'leaseDurationMs'>;
}

interface SupervisedOptions {
  readonly role: Role;
  readonly reaper: Reaper;
  readonly journal: Journal;
  /** The command to start, now and after each exit. */
  readonly nextLife: () => Life;
  /** How long it stays down, unless a fault keeps it down for longer. */
  readonly pauseMs: () => number;
}

/** A program that restarts after each exit, as under a kubelet. */
export class SupervisedProcess {
  readonly #options: SupervisedOptions;
  #life: Life;
  #process: ServerProcess | undefined;
  #isOurs = false;
  #isStopped = false;
  /** The number of faults that keep it down, and the promise that resolves when there is none. */
  #keepers = 0;
  #away: PromiseWithResolvers<void> | undefined;
  readonly #running: Promise<void>;

  constructor(options: SupervisedOptions) {
    this.#options = options;
    this.#life = options.nextLife();
    this.#running = this.#run();
  }

  get role(): Role {
    return this.#options.role;
  }

  /** As in the journal. */
  get name(): string {
    return this.#life.facts.name;
  }

  get logFile(): string {
    return this.#life.command.logFile;
  }

  get isRunning(): boolean {
    return this.#process !== undefined && this.#process.exit() === undefined;
  }

  /** Does nothing if the program does not run. Returns whether it ran. */
  signal(signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): boolean {
    if (!this.isRunning) return false;
    if (signal === 'SIGKILL' || signal === 'SIGTERM') this.#isOurs = true;
    this.#process?.kill(signal);
    return true;
  }

  /** Keeps the program down until all callers of this have called `bringBack`. */
  keepAway(): void {
    this.#keepers += 1;
    this.#away ??= Promise.withResolvers();
  }

  bringBack(): void {
    this.#keepers -= 1;
    if (this.#keepers === 0) this.#mayRun();
  }

  #mayRun(): void {
    this.#away?.resolve();
    this.#away = undefined;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#mayRun();
    this.signal('SIGKILL');
    await this.#running;
  }

  async #run(): Promise<void> {
    const { role, reaper, journal, pauseMs, nextLife } = this.#options;
    while (!this.#isStopped) {
      const { command, facts } = this.#life;
      this.#isOurs = false;
      this.#process = startServer(command, reaper);
      const { logFile } = command;
      journal.write({ kind: 'started', role, logFile, ...facts });
      const { code, signal } = await this.#process.exited;
      const how = signal ?? `code ${code}`;
      journal.write({ kind: 'ended', role, name: facts.name, logFile, isOurs: this.#isOurs, how });
      for (let rest = pauseMs(); rest > 0 && !this.#isStopped; rest -= 100) await sleep(100);
      await this.#away?.promise;
      this.#life = nextLife();
    }
  }
}
