import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestContext } from 'vitest';
import type { ParticipateOptions } from '../../src/participant/participant-options.ts';

/** One line of participant-program.ts. */
export interface ProgramEvent {
  readonly event: 'observed' | 'leads' | 'told' | 'stopped' | 'ended';
  readonly identity: string;
  /** In milliseconds since the Unix epoch, fractions included. */
  readonly at: number;
  readonly fencingToken?: number;
  readonly why?: string;
  readonly holder?: string;
}

/** A participant in its own process. */
export interface ParticipantProgram {
  readonly events: readonly ProgramEvent[];
  /** The first matching event from the `from`-th on, past or future. */
  waitFor(event: ProgramEvent['event'], from?: number): Promise<ProgramEvent>;
  /** Sends SIGTERM. Resolves when it has exited. */
  stop(): Promise<void>;
}

const WITHIN_MS = 60_000;

/** Starts one, at most for the duration of a test. */
export function startParticipantProgram(
  options: ParticipateOptions,
  { stopsInMs = 0 }: { readonly stopsInMs?: number },
  context: TestContext,
): ParticipantProgram {
  const program = new URL('participant-program.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, JSON.stringify({ stopsInMs, options })], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end = () => endWith(child, 'SIGKILL');
  context.onTestFinished(end);
  let errors = '';
  child.stderr.on('data', (data) => {
    errors += String(data);
  });
  const events: ProgramEvent[] = [];
  createInterface(child.stdout).on('line', (line) => events.push(JSON.parse(line) as ProgramEvent));
  return {
    events,
    async waitFor(event, from = 0) {
      const until = performance.now() + WITHIN_MS;
      for (;;) {
        const found = events.slice(from).find((one) => one.event === event);
        if (found) return found;
        if (performance.now() > until)
          throw new Error(`no "${event}" in ${WITHIN_MS} ms: ${JSON.stringify(events)} ${errors}`);
        await sleep(2);
      }
    },
    stop: () => endWith(child, 'SIGTERM'),
  };
}

async function endWith(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

/** Describes each time that two of these led at once: from the start of a term until its program has stopped. */
export function overlapsOf(programs: readonly ParticipantProgram[]): readonly string[] {
  const terms = programs.flatMap(({ events }) =>
    events
      .filter(({ event }) => event === 'leads')
      .map((begun) => ({
        begun,
        stoppedAt:
          events.find(({ event, at }) => event === 'stopped' && at >= begun.at)?.at ?? events.at(-1)?.at ?? 0,
      })),
  );
  const inOrder = terms.toSorted((a, b) => a.begun.at - b.begun.at);
  return inOrder.flatMap(({ begun }, index) => {
    const former = inOrder[index - 1];
    return former && former.stoppedAt > begun.at
      ? [
          `${begun.identity} leads ${former.stoppedAt - begun.at} ms before ${former.begun.identity} has stopped`,
        ]
      : [];
  });
}
