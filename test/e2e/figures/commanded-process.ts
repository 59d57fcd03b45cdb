import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** The result of a command: a number, if the command asks for one. */
export type Outcome =
  | { readonly seq: number; readonly value: number }
  | { readonly seq: number; readonly failure: string };

/** A process that executes commands. It ends with this one. */
export interface CommandedProcess<Command extends object> {
  readonly pid: number;
  /** Resolves when the command has taken effect. */
  send(command: Command): Promise<number>;
  /** Sends SIGKILL. Resolves when the process has exited. */
  kill(): Promise<void>;
}

/** Starts a script in the caller's folder, with `site` as its argument. `tell` gets its unsolicited messages. */
export function startCommanded<Command extends object, Message extends object = never>(
  script: URL,
  site: object,
  tell: (message: Message) => void = () => {},
): CommandedProcess<Command> {
  const child = fork(script, [JSON.stringify(site)], {
    // A test runner's own flags are not for it.
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const pending = new Map<number, PromiseWithResolvers<number>>();
  let end: Error | undefined;
  child.once('exit', (code, signal) => {
    end = new Error(`the process of the programs has ended (${signal ?? `code ${code}`})`);
    for (const { reject } of pending.values()) reject(end);
  });
  child.on('message', (message: Outcome | Message) => {
    if (!('seq' in message)) return tell(message);
    const command = pending.get(message.seq);
    pending.delete(message.seq);
    if ('failure' in message) command?.reject(new Error(message.failure));
    else command?.resolve(message.value);
  });
  let sequence = 0;
  return {
    pid: child.pid ?? -1,
    send(command) {
      if (end) return Promise.reject(end);
      sequence += 1;
      const answer = Promise.withResolvers<number>();
      pending.set(sequence, answer);
      child.send({ ...command, seq: sequence });
      return answer.promise;
    },
    kill: () => endOf(child),
  };
}

/** In such a process: executes the commands of the other process, in parallel. */
export function obey<Command extends object>(execute: (command: Command) => Promise<number>): void {
  // The other process is gone.
  process.once('disconnect', () => process.exit());
  process.on('message', async (command: Command & { readonly seq: number }) => {
    const { seq } = command;
    const say = (outcome: Outcome) => process.send?.(outcome);
    try {
      say({ seq, value: await execute(command) });
    } catch (error) {
      say({ seq, failure: String(error) });
    }
  });
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
