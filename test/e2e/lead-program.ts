// A program beside a sidecar that leads by a connection (rule 18). It writes into a ledger while it leads. The tests
// of lead-site.ts start it in its own process.
import { appendFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** The program's options, as JSON in its first argument. */
export interface LeadProgramOptions {
  readonly name: string;
  readonly ledger: string;
  /** The address of the sidecar. */
  readonly at: { readonly host: string; readonly port: number } | { readonly socketPath: string };
  /** How long it takes to stop, in milliseconds. */
  readonly stopMs: number;
  /** Whether it ignores the stop for as long as it may lead. */
  readonly isDeaf: boolean;
}

/** The program's output, one line each. */
export interface LeadProgramReport {
  readonly event: 'leads' | 'isToStop' | 'hasStopped' | 'pauses';
  /** In milliseconds since the Unix epoch. */
  readonly at: number;
}

interface Told {
  readonly leading: boolean;
  readonly fencingToken: number;
  readonly validUntilMs: number;
}

const options = JSON.parse(process.argv[2] ?? '') as LeadProgramOptions;
const report = (event: LeadProgramReport['event']) =>
  process.stdout.write(`${JSON.stringify({ event, at: Date.now() })}\n`);

// Pauses like SIGSTOP, but not between the look at the time and the write: no program can exclude that.
process.on('SIGUSR2', () => {
  report('pauses');
  process.kill(process.pid, 'SIGSTOP');
});

async function lead(): Promise<void> {
  const asked = performance.now();
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ ...options.at, path: '/lead', agent: false }, resolve).on('error', reject);
  });
  let told: Told | undefined;
  const mayWrite = () => told !== undefined && performance.now() < asked + told.validUntilMs;
  const write = () => {
    if (mayWrite()) appendFileSync(options.ledger, `${told?.fencingToken} ${options.name}\n`);
  };
  let writing: NodeJS.Timeout | undefined;
  try {
    for await (const line of createInterface(answer)) {
      if (!line.startsWith('data: ')) continue;
      told = JSON.parse(line.slice('data: '.length)) as Told;
      if (!writing) {
        write();
        report('leads');
        writing = setInterval(write, 5);
      }
      if (told.leading) continue;
      report('isToStop');
      if (!options.isDeaf) break;
    }
  } catch {
    // The sidecar is gone. Its last promise is still valid.
  }
  if (told) await sleep(options.stopMs);
  clearInterval(writing);
  if (told) report('hasStopped');
  answer.destroy();
}

for (;;) {
  await lead().catch(() => {});
  await sleep(20);
}
