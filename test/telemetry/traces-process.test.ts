import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type SimCandidates, startSimCandidates } from '../control-plane/sim-candidate.ts';
import { type EmbeddedCluster, startEmbeddedCluster } from '../embedded/embedded-cluster.ts';
import { type OtlpReceiver, startOtlpReceiver } from './otlp-receiver.ts';

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;
/** Tells on standard error of whatever of OpenTelemetry is loaded; the API alone is prom-client's too. */
const HOOK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(specifier, context, next) {
      if (/^@opentelemetry.(?!api$)/.test(specifier)) process.stderr.write('loads ' + specifier + '\\n');
      return next(specifier, context);
    },
  });
`)}`;

let cluster: EmbeddedCluster;
let candidates: SimCandidates;
let directory: string;
let kubeconfig: string;
let receiver: OtlpReceiver;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  cluster = await startEmbeddedCluster();
  candidates = await startSimCandidates(cluster);
  directory = await mkdtemp(join(tmpdir(), 'traces-'));
  kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, cluster.kubeConfigOf('coordinator').exportConfig());
});
afterAll(async () => {
  candidates.stop();
  await cluster.stop();
  await receiver.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Runs the coordinator until it has given the Lease `lease` to a candidate that had to be asked, and stops it. */
async function runFor(lease: string, env: Readonly<Record<string, string>>) {
  const args = ['--import', HOOK, MAIN, 'run', '--kubeconfig', kubeconfig, '--listen', 'off'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const log: { readonly msg: string; readonly lease?: string; readonly state?: string }[] = [];
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = once(child, 'close');
  for await (const line of createInterface(child.stdout)) {
    const parsed = JSON.parse(line) as (typeof log)[number];
    log.push(parsed);
    // A candidate of longer ago may have had a Lease, whose holder would be waited for (rule 8).
    if (parsed.msg === 'The coordinator lock changed' && parsed.state === 'active')
      await candidates.start({ namespace: 'default', lease, name: `${lease}-1`, renewedAgoMs: 60_000 });
    if (parsed.msg !== 'Changed a Lease' || parsed.lease !== `default/${lease}`) continue;
    child.kill('SIGTERM');
  }
  const [code] = (await ended) as [number | null];
  const loads = errors.split('\n').filter((line) => line.startsWith('loads '));
  return { code, log, loads };
}

describe('a coordinator', () => {
  test('that has an endpoint for traces sends that of each election there, at the latest when it stops', async () => {
    const { code, loads } = await runFor('traced', {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_SERVICE_NAME: 'elections',
    });
    expect(code).toBe(0);
    expect(loads).toContain('loads @opentelemetry/sdk-trace');
    const elections = receiver.spans.filter(({ name }) => name === 'election');
    expect(elections).toMatchObject([
      {
        parentSpanId: '',
        hasFailed: false,
        attributes: {
          'cle.lease.namespace': 'default',
          'cle.lease.name': 'traced',
          'cle.result': 'granted',
          'cle.reason': 'LeaseMissing',
          'cle.holder': 'traced-1',
          'cle.strategy': 'OldestEmulationVersion',
          'cle.candidate_count': 1,
          'cle.attempts': 1,
        },
        resource: { 'service.name': 'elections' },
      },
    ]);
    const [election] = elections;
    if (!election) throw new Error('no election was traced');
    // An answer within 100 ms of the candidate's creation is too early for the first election of a Lease (rule 6).
    const events = election.events.filter(
      ({ attributes }) => attributes['cle.reason'] !== 'FirstElectionSettling',
    );
    expect(events.map(({ name }) => name)).toEqual(['need', 'decide', 'decide']);
    expect(election.events.at(-1)?.attributes).toEqual({
      'cle.reason': 'LeaseMissing',
      'cle.actions': ['CreateLease'],
      'cle.candidates': ['traced-1 1.36.0/1.36.0: Live'],
    });
    const children = receiver.spans.filter(({ parentSpanId }) => parentSpanId === election.spanId);
    expect(children).toMatchObject([
      { name: 'ping', attributes: { 'cle.candidate': 'traced-1', 'cle.result': 'answered' } },
      { name: 'write', attributes: { 'cle.action': 'CreateLease', 'cle.result': 'ok' } },
    ]);
    for (const { traceId, startTime, endTime } of children) {
      expect(traceId).toBe(election.traceId);
      expect(startTime).toBeGreaterThanOrEqual(election.startTime);
      expect(endTime).toBeLessThanOrEqual(election.endTime);
      expect(endTime).toBeGreaterThan(startTime);
    }
    const ageMs = Date.now() - Number(election.endTime / 1_000_000n);
    expect(ageMs).toBeGreaterThanOrEqual(0);
    expect(ageMs).toBeLessThan(60_000);
  });

  test('that has none loads nothing of what that takes', async () => {
    const before = receiver.requests.length;
    const { code, loads } = await runFor('untraced', {});
    expect({ code, loads }).toEqual({ code: 0, loads: [] });
    expect(receiver.requests).toHaveLength(before);
  });

  test('whose endpoint is down elects all the same, says so once and stops', async () => {
    const { code, log } = await runFor('lost', {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    });
    expect(code).toBe(0);
    expect(log.filter(({ msg }) => msg === 'Exporting traces failed')).toHaveLength(1);
  });

  test('that is given an endpoint of no use says so and does not start', async () => {
    const child = spawn(process.execPath, [MAIN, 'run', '--kubeconfig', kubeconfig], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code).toBe(2);
    expect(errors).toBe(
      'error: OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" is not the URL of an OTLP receiver; ' +
        'give e.g. http://collector:4318\nTry --help.\n',
    );
  });
});
