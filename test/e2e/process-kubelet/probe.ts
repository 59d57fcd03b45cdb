import { setTimeout as sleep } from 'node:timers/promises';
import type { Container, Probe } from './pod.ts';

/**
 * Probes a container until `signal` aborts. Calls `onChange` at each change of the verdict: when an answer is good,
 * or when as many consecutive answers were bad as the probe allows. The verdict is bad at first.
 * `untilFirstContentMs` replaces the period until the first good answer, so that tests need not wait.
 */
export async function runProbe(
  container: Container,
  probe: Probe,
  podIp: string,
  signal: AbortSignal,
  onChange: (isContent: boolean) => void,
  untilFirstContentMs?: number,
): Promise<void> {
  const { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1, failureThreshold = 3 } = probe;
  const periodMs = periodSeconds * 1_000;
  let verdict: boolean | undefined;
  let wasContent = false;
  let inARow = 0;
  let last: boolean | undefined;
  await pause(initialDelaySeconds * 1_000, signal);
  while (!signal.aborted) {
    const answer = await ask(container, probe, podIp);
    inARow = answer === last ? inARow + 1 : 1;
    last = answer;
    const isSettled = inARow >= (answer ? successThreshold : failureThreshold);
    if (isSettled && verdict !== answer && !signal.aborted) {
      verdict = answer;
      wasContent ||= answer;
      onChange(answer);
    }
    await pause(wasContent ? periodMs : (untilFirstContentMs ?? periodMs), signal);
  }
}

async function ask(container: Container, probe: Probe, podIp: string): Promise<boolean> {
  const { httpGet, timeoutSeconds = 1 } = probe;
  const named = container.ports?.find(({ name }) => name === httpGet?.port);
  try {
    const url = `http://${podIp}:${named?.containerPort ?? httpGet?.port}${httpGet?.path ?? '/'}`;
    const { status } = await fetch(url, { signal: AbortSignal.timeout(timeoutSeconds * 1_000) });
    return status >= 200 && status < 400;
  } catch {
    return false;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<unknown> {
  return sleep(ms, undefined, { signal, ref: false }).catch(() => {});
}
