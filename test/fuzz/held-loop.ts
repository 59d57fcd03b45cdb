import type fc from 'fast-check';

/** For no longer than this may an input hold the event loop: milliseconds of its thread's processor time. */
const MAX_MS = 50;
const REPETITIONS = 3;

/** The same property, which fails as well if an input holds the event loop: not once, by chance, but each time. */
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

/** Does something, and tells for how long it held the event loop at most. What else the machine does is not in it. */
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
