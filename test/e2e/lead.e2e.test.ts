import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from './coordinator.ts';
import { type LeadProgram, type LeadSite, type LeadStage, startLeadSite } from './lead-site.ts';
import type { ParticipateProcess } from './participate-process.ts';

/** The duration of the Leases, in milliseconds. */
const LEASE_MS = 6000;
/** The interval of renewals, in milliseconds, and what the machine may take for one. */
const RENEWAL_MS = 1000 + 1000;
const timeout = 120_000;

interface Pod {
  readonly sidecar: ParticipateProcess;
  program: LeadProgram;
}

let site: LeadSite;
let stage: LeadStage;

beforeAll(async () => {
  site = await startLeadSite();
}, timeout);
afterEach(() => stage.stop());
afterAll(() => site.stop());

async function startPod(name: string, options: { stopMs?: number; isDeaf?: boolean } = {}): Promise<Pod> {
  const sidecar = stage.startSidecar(name);
  const program = await stage.startProgram(sidecar, { ...options, name });
  await sidecar.logged('Stands as candidate');
  return { sidecar, program };
}

/** Starts a pod that leads, and another one that waits. */
async function startTwo(lease: string, options: { stopMs?: number; isDeaf?: boolean } = {}) {
  stage = site.stage(lease);
  const first = await startPod('first', options);
  await first.program.reported('leads');
  const second = await startPod('second');
  return { first, second };
}

/** Waits until there are so many candidates. */
function untilCandidates(count: number): Promise<true> {
  return eventually(
    async () => (await stage.candidates()).length === count || undefined,
    `${count} candidates`,
  );
}

describe('programs that lead by a connection, as processes (rule 18)', { timeout }, () => {
  test('are candidates only while they ask for the lead', async () => {
    stage = site.stage('asked');
    const sidecar = stage.startSidecar('first');
    await sidecar.logged('Takes part in the election');
    await sleep(500);
    expect(await stage.candidates()).toEqual([]);
    const program = await stage.startProgram(sidecar, { name: 'first' });
    await program.reported('leads');
    expect(await stage.candidates()).toEqual(['first']);
    expect(JSON.parse((await sidecar.ask('/leader')).body)).toMatchObject({ leading: true, validForMs: 0 });
    program.signal('SIGKILL');
    await untilCandidates(0);
    expect(stage.holders()).toEqual(['first', '']);
  });

  test('hand over at once when the one that leads is killed, and its restart waits', async () => {
    const { first, second } = await startTwo('killed');
    const gaps: number[] = [];
    let [leads, waits] = [first, second];
    for (let round = 0; round < 3; round += 1) {
      await sleep(500);
      const killedAt = Date.now();
      leads.program.signal('SIGKILL');
      const { at } = await waits.program.reported('leads', killedAt);
      gaps.push(at - killedAt);
      await untilCandidates(1);
      leads.program = await stage.startProgram(leads.sidecar, { name: leads.program.name });
      await untilCandidates(2);
      [leads, waits] = [waits, leads];
    }
    expect(Math.max(...gaps)).toBeLessThan(LEASE_MS - RENEWAL_MS);
    expect(stage.ledger.violations('invoices')).toEqual([]);
    expect(stage.ledger.terms).toBe(4);
  });

  test('hand over when the sidecar is told to end, as soon as the program has stopped', async () => {
    const { first, second } = await startTwo('stopped', { stopMs: 700 });
    const toldAt = Date.now();
    first.sidecar.signal('SIGTERM');
    const [stopped, led] = await Promise.all([
      first.program.reported('hasStopped', toldAt),
      second.program.reported('leads', toldAt),
    ]);
    expect(stopped.at - toldAt).toBeGreaterThanOrEqual(700);
    expect(led.at).toBeGreaterThanOrEqual(stopped.at);
    expect(led.at - stopped.at).toBeLessThan(LEASE_MS - RENEWAL_MS);
    expect(await first.sidecar.ended).toBe(0);
    expect(await stage.candidates()).toEqual(['second']);
    expect(stage.ledger.violations('invoices')).toEqual([]);
  });

  test('that do not stop keep the Lease until it expires, and do not write beyond their time', async () => {
    const { first, second } = await startTwo('deaf', { isDeaf: true });
    const toldAt = Date.now();
    void first.sidecar.ask('/resign', 'POST').catch(() => {});
    await first.program.reported('isToStop', toldAt);
    const { at } = await second.program.reported('leads', toldAt);
    expect(at - stage.renewedAt('first')).toBeGreaterThan(LEASE_MS);
    await sleep(300);
    expect(stage.ledger.writer).toBe('second');
    expect(stage.holders()).toEqual(['first', 'second']);
    // A pod whose program has not said that it has stopped is no candidate.
    await untilCandidates(1);
    first.program.signal('SIGKILL');
    first.program = await stage.startProgram(first.sidecar, { name: 'first' });
    await untilCandidates(2);
    expect(stage.ledger.violations('invoices')).toEqual([]);
  });

  test('that are frozen for longer than they may lead find that out before they write', async () => {
    const { first, second } = await startTwo('frozen');
    first.program.signal('SIGUSR2');
    const { at: toldAt } = await first.program.reported('pauses');
    void first.sidecar.ask('/resign', 'POST').catch(() => {});
    await second.program.reported('leads', toldAt);
    first.program.signal('SIGCONT');
    await first.program.reported('hasStopped', toldAt);
    await sleep(300);
    expect(stage.ledger.writer).toBe('second');
    expect(stage.ledger.violations('invoices')).toEqual([]);
    await untilCandidates(2);
  });

  test('work when they lead, also when their sidecar was paused while they asked', async () => {
    stage = site.stage('asked-late');
    const sidecar = stage.startSidecar('first');
    await sidecar.logged('Takes part in the election');
    sidecar.signal('SIGSTOP');
    const program = await stage.startProgram(sidecar, { name: 'first' });
    // Longer than a line is valid: a time that counts from this request would always be over.
    await sleep(7000);
    sidecar.signal('SIGCONT');
    await program.reported('leads');
    await eventually(() => stage.ledger.length > 0 || undefined, 'the leader writes', 20_000);
    expect(stage.ledger.writer).toBe('first');
  });

  test('stop when their sidecar is killed, and the others wait until the Lease expires', async () => {
    const { first, second } = await startTwo('orphaned');
    const killedAt = Date.now();
    first.sidecar.signal('SIGKILL');
    await first.program.reported('hasStopped', killedAt);
    const { at } = await second.program.reported('leads', killedAt);
    expect(at - stage.renewedAt('first')).toBeGreaterThan(LEASE_MS);
    expect(stage.ledger.violations('invoices')).toEqual([]);
  });

  test('lead beside a new sidecar only when what the former sidecar has told is over', async () => {
    stage = site.stage('resumed');
    const first = await startPod('first');
    await first.program.reported('leads');
    const transitions = stage.transitions();
    first.sidecar.signal('SIGKILL');
    await first.sidecar.ended;
    const startedAt = Date.now();
    const again = stage.startSidecar('first');
    const program = await stage.startProgram(again, { name: 'another' });
    const { at } = await program.reported('leads');
    expect(at - startedAt).toBeGreaterThan(5000);
    expect(stage.transitions()).toBeGreaterThan(transitions);
    expect(stage.ledger.violations('invoices')).toEqual([]);
  });
});
