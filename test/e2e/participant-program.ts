// A program that takes part in an election. Its first argument contains its options in JSON, and it reports events in
// lines of JSON.
import { participate, TermOver } from '../../src/index.ts';

interface Settings {
  readonly stopsInMs: number;
  readonly options: Parameters<typeof participate>[0];
}

const { stopsInMs, options }: Settings = JSON.parse(process.argv[2] ?? '');
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());

function tell(event: string, fields: object = {}): void {
  const at = performance.timeOrigin + performance.now();
  console.log(JSON.stringify({ ...fields, event, identity: options.identity, at }));
}

await participate(
  {
    ...options,
    signal: stopping.signal,
    onObserved: ({ holder, role }) => tell('observed', { holder, role }),
  },
  async ({ signal, fencingToken }) => {
    tell('leads', { fencingToken });
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    const { reason } = signal;
    tell('told', { why: reason instanceof TermOver ? reason.why : String(reason) });
    await new Promise((resolve) => setTimeout(resolve, stopsInMs));
    tell('stopped', { fencingToken });
  },
);
tell('ended');
