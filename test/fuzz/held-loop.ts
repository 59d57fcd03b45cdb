import type fc from 'fast-check';

/** Maximum time for which an input may block the event loop, in milliseconds of CPU time of the thread. */
const MAX_MS = 50;
const REPETITIONS = 3;

/** The same property, which also fails if an input blocks the event loop: every time, not once by chance. */
export function holdingNobody(property: fc.IRawProperty<unknown>): fc.IRawProperty<unknown> {
  const run = async (value: unknown) => {
    const once = () => held(() => property.run(value));
    let { result, heldMs } = await once();
    for (let again = 0; again < REPETITIONS && heldMs > MAX_MS && result === null; again += 1) {
      const next = await once();
      result = next.result;
      heldMs = Math.min(heldMs, next.heldMs);
    }
    if (result !== null || heldMs <= MAX_MS) return result;
    return { error: new Error(`the event loop is held for ${Math.round(heldMs)} ms of processor time`) };
  };
  return Object.assign(Object.create(property) as object, {
    isAsync: () => true,
    run,
  }) as unknown as fc.IRawProperty<unknown>;
}

/** Runs `work`, and returns the longest time for which it blocked the event loop. Ignores other load on the machine. */
async function held<T>(act: () => T | Promise<T>): Promise<{ readonly result: T; readonly heldMs: number }> {
  let heldMs = 0;
  let before = process.threadCpuUsage();
  const beat = () => {
    const { user, system } = process.threadCpuUsage(before);
    heldMs = Math.max(heldMs, (user + system) / 1000);
    before = process.threadCpuUsage();
  };
  const timer = setInterval(beat, 1);
  try {
    const pending = act();
    beat();
    const result = await pending;
    beat();
    return { result, heldMs };
  } finally {
    clearInterval(timer);
  }
}
