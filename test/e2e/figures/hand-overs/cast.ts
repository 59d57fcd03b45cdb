import type { WatchedLease } from '../../../control-plane/watched-objects.ts';
import { startClientGo, startClientGoWithSidecars } from './client-go-programs.ts';
import { startOperators } from './operators.ts';
import { startParticipants } from './participants.ts';
import { type ProgramProcess, WorkLog } from './programs.ts';
import type { Site } from './site.ts';

/** The kinds of programs. */
export type ProgramKind =
  | 'participants'
  | 'client-go'
  | 'client-go with sidecars'
  | 'plain client-go'
  | 'operators'
  | 'plain operators';

/** The programs of one kind, in their own namespace. */
export class Cast {
  readonly site: Site;
  readonly namespace: string;
  readonly works = new WorkLog();
  readonly #kind: ProgramKind;
  readonly #processes = new Set<ProgramProcess>();
  /** The process of each program. */
  readonly #places = new Map<string, ProgramProcess>();

  constructor(site: Site, namespace: string, kind: ProgramKind) {
    this.site = site;
    this.namespace = namespace;
    this.#kind = kind;
  }

  /** A process without programs yet. */
  async startProcess(): Promise<ProgramProcess> {
    const started = await this.#startKind();
    this.#processes.add(started);
    return started;
  }

  #startKind(): Promise<ProgramProcess> {
    const { note } = this.works;
    const { plane } = this.site;
    switch (this.#kind) {
      case 'participants':
        return startParticipants(plane, note);
      case 'client-go':
        return startClientGo(plane, note);
      case 'client-go with sidecars':
        return startClientGoWithSidecars(plane, note);
      case 'plain client-go':
        return startClientGo(plane, note, 'plain');
      case 'operators':
        return startOperators(plane, note);
      case 'plain operators':
        return startOperators(plane, note, { isPlain: true });
    }
  }

  /** Starts a program that emulates 1.`minor`, the lower the better. Resolves to its name when it is a candidate. */
  async start(where: ProgramProcess, lease: string, minor: number): Promise<string> {
    const name = `${lease}.${minor}`;
    this.#places.set(name, where);
    await where.start({ name, namespace: this.namespace, lease, emulationVersion: `1.${minor}.0` });
    return name;
  }

  /** Sends a signal to one program. */
  async stop(name: string, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const place = this.#places.get(name);
    this.#places.delete(name);
    await place?.stop(name, signal);
  }

  /** Sends SIGKILL to a process. Resolves to the names of its programs. */
  async kill(where: ProgramProcess): Promise<readonly string[]> {
    const names = this.programsIn(where);
    for (const name of names) this.#places.delete(name);
    this.#processes.delete(where);
    await where.kill();
    return names;
  }

  programsIn(where: ProgramProcess): readonly string[] {
    return [...this.#places].flatMap(([name, place]) => (place === where ? [name] : []));
  }

  /** All programs of a Lease, best first. */
  programsOf(lease: string): readonly string[] {
    const versionOf = (name: string) => Number(name.split('.')[1]);
    return [...this.#places.keys()]
      .filter((name) => name.startsWith(`${lease}.`))
      .sort((a, b) => versionOf(a) - versionOf(b));
  }

  lease(name: string): WatchedLease | undefined {
    return this.site.leases.current(this.namespace, name);
  }

  holder(lease: string): string {
    return this.lease(lease)?.spec.holderIdentity ?? '';
  }

  /** The maximum delay of all their event loops, in milliseconds. */
  async lateness(): Promise<number> {
    return Math.max(0, ...(await Promise.all([...this.#processes].map((each) => each.lateness()))));
  }

  async end(): Promise<void> {
    await Promise.all([...this.#processes].map((each) => this.kill(each)));
  }
}
