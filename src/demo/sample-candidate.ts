import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import type { ElectorTiming } from '../participant/elector-decision.ts';
import { Participant } from '../participant/participant.ts';
import { type Clock, sleep } from '../support/clock.ts';
import { untilAborted } from '../support/host.ts';

/** Callbacks must not throw. */
interface SampleCandidateParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly identity: SampleIdentity;
  readonly timing: SampleTiming;
  readonly onLeading: (isLeading: boolean) => void;
  /** Called for an error in the candidate. The candidate retries by itself. */
  readonly onTrouble?: (error: unknown) => void;
}

export type SampleCandidate = ReturnType<typeof createSampleCandidate>;

/** Creates a program that takes part in an election and does no work. The program can be paused, and can crash. */
export function createSampleCandidate(parts: SampleCandidateParts) {
  const { client, clock, identity, timing, onLeading, onTrouble } = parts;
  const { leaseName, name, stoppingMs, ...asked } = { ...identity, ...timing };
  const simulated = createProcess(client, clock);
  const stopping = new AbortController();
  let end: 'crashed' | 'left' | undefined;
  let isLeading = false;
  let running: Promise<void> | undefined;

  const tell = (fields: { readonly err?: unknown }) => {
    if (end === undefined && fields.err !== undefined) onTrouble?.(fields.err);
  };
  const participant = new Participant(
    {
      ...asked,
      lease: leaseName,
      identity: name,
      client: simulated.client,
      clock: simulated.clock,
      logger: { debug() {}, info() {}, warn: tell, error: tell },
    },
    async ({ signal }) => {
      isLeading = true;
      onLeading(true);
      await untilAborted(signal);
      await sleep(simulated.clock, stoppingMs);
      isLeading = false;
      onLeading(false);
    },
  );

  return {
    identity,
    get life() {
      return end ?? (simulated.isPaused() ? 'paused' : 'running');
    },
    /** Whether the program leads or is still stopping its work. False after a call of `crash` or `leave`. */
    get isLeading(): boolean {
      return end === undefined && isLeading;
    },
    /** Starts the program. Resolves when the LeaseCandidate is published; never resolves if the program ends first. */
    start(): Promise<void> {
      running = participant.run(stopping.signal);
      return participant.published;
    },
    pause(): void {
      if (end === undefined) simulated.pause();
    },
    resume: simulated.resume,
    /** Ends the program at once. The program does not release the Lease. */
    crash(): void {
      end ??= 'crashed';
      simulated.kill();
    },
    /** Stops the program. The program releases the Lease if it leads, and deletes its LeaseCandidate. */
    async leave(): Promise<void> {
      end ??= 'left';
      stopping.abort();
      simulated.resume();
      await running;
    },
  };
}

export interface SampleIdentity {
  readonly namespace: string;
  readonly leaseName: string;
  /** The name of the LeaseCandidate. The program also uses it as holderIdentity. */
  readonly name: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly strategy: string;
}

export interface SampleTiming extends ElectorTiming {
  /** Time that the program takes to stop its work after it is told to stop leading, in milliseconds. */
  readonly stoppingMs: number;
}

/**
 * A simulated process with its own clock and client. It can be paused, as SIGSTOP pauses a real process, and killed
 * without any cleanup.
 */
function createProcess(client: KubernetesClient, clock: Clock) {
  const ending = new AbortController();
  const timers = new Set<() => void>();
  let pause: PromiseWithResolvers<void> | undefined;

  const ownClock: Clock = {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    random: () => clock.random(),
    setTimer(callback, delayMs) {
      const end = () => {
        cancel();
        timers.delete(end);
      };
      const fire = () => {
        if (pause) void pause.promise.then(fire);
        else if (timers.delete(end)) callback();
      };
      const cancel = clock.setTimer(fire, delayMs);
      timers.add(end);
      return end;
    },
  };

  function resume(): void {
    pause?.resolve();
    pause = undefined;
  }

  function bounded(request: ApiRequest): ApiRequest {
    const signals = [ending.signal, request.signal].filter((signal) => signal !== undefined);
    return { ...request, signal: AbortSignal.any(signals) };
  }

  /** Resolves when the process is not paused. Never resolves after the process was killed. */
  async function untilRunning(): Promise<void> {
    while (pause) await pause.promise;
    if (ending.signal.aborted) await new Promise<never>(() => {});
  }

  /**
   * Makes a call for the simulated process. While the process is paused, it sends no request and gets no answer. If the
   * process is killed, the returned promise never settles.
   */
  async function outlive<T>(call: () => Promise<T>): Promise<T> {
    await untilRunning();
    try {
      return await call();
    } finally {
      await untilRunning();
    }
  }

  async function* receive(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of chunks) {
        await untilRunning();
        yield chunk;
      }
    } finally {
      await untilRunning();
    }
  }

  return {
    clock: ownClock,
    client: {
      server: client.server,
      request: (request) => outlive(() => client.request(bounded(request))),
      stream: async (request) => receive(await outlive(() => client.stream(bounded(request)))),
      close: (graceMs) => client.close(graceMs),
    } satisfies KubernetesClient,
    isPaused: () => pause !== undefined,
    pause() {
      pause ??= Promise.withResolvers();
    },
    resume,
    kill() {
      ending.abort();
      for (const end of timers) end();
      resume();
    },
  };
}
