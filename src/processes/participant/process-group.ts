import { readdirSync, readFileSync } from 'node:fs';
import type { Host } from '../../support/host.ts';

/** The processes that a command has started, itself included, as far as none has left its group. */
export class ProcessGroup {
  readonly #host: Pick<Host, 'kill'>;
  /** Of the group and of its leader, which is the command. */
  readonly id: number;

  constructor(id: number, host: Pick<Host, 'kill'>) {
    this.id = id;
    this.#host = host;
  }

  /** To the command alone. */
  signalLeader(signal: NodeJS.Signals): void {
    this.#send(this.id, signal);
  }

  /** To all of them. */
  signal(signal: NodeJS.Signals): void {
    this.#send(-this.id, signal);
  }

  /** Whether nobody is left who could still do something. */
  isGone(): boolean {
    if (!this.#send(-this.id, 0)) return true;
    // A process that has ended stays in its group until its parent asks for its exit code, which process 1 of a container
    // may never do.
    const states = statesOfGroup(this.id);
    return states?.every((state) => state === 'Z' || state === 'X') ?? false;
  }

  /** Whether there was anybody to send it to. */
  #send(pid: number, signal: NodeJS.Signals | 0): boolean {
    try {
      this.#host.kill(pid, signal);
      return true;
    } catch (error) {
      // Whoever may not be sent a signal is there.
      return error instanceof Error && 'code' in error && error.code === 'EPERM';
    }
  }
}

/** The states of the processes of a group, as /proc has them; undefined on systems without it. */
function statesOfGroup(id: number): readonly string[] | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(groupAndState)
      .flatMap((found) => (found?.group === id ? [found.state] : []));
  } catch {
    return undefined;
  }
}

function groupAndState(pid: string): { group: number; state: string } | undefined {
  try {
    // The name of the program, in parentheses, may have anything in it.
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '');
    const [state = '', , group] = afterName.split(' ');
    return { group: Number(group), state };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
