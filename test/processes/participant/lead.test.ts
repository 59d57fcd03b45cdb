import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../e2e/coordinator.ts';
import type { ParticipateProcess } from '../../e2e/participate-process.ts';
import { type LeadProgram, type LeadSite, startLeadSite } from './lead-site.ts';

/** The duration of the Leases, in milliseconds. */
const LEASE_MS = 6000;
const timeout = 120_000;

let site: LeadSite;
let pods: { readonly sidecar: ParticipateProcess; program: LeadProgram }[];

beforeEach(async () => {
  site = await startLeadSite();
  pods = [];
});
afterEach(() => site.stop());

async function startPod(name: string, options: Parameters<LeadSite['startProgram']>[1] = { name }) {
  const sidecar = site.startSidecar(name);
  const program = await site.startProgram(sidecar, { ...options, name });
  const pod = { sidecar, program };
  pods.push(pod);
  await sidecar.logged('Stands as candidate');
  return pod;
}

/** Starts a pod that leads, and another one that waits. */
async function startTwo(options?: Partial<Parameters<LeadSite['startProgram']>[1]>) {
  const first = await startPod('first', { name: 'first', ...options });
  await first.program.reported('leads');
  const second = await startPod('second');
  return { first, second };
}

function holder(): string {
  return site.lease()?.spec.holderIdentity ?? '';
}

describe('programs that lead by a connection, as processes (rule 18)', { timeout }, () => {
  test('are candidates only while they ask for the lead', async () => {
    const sidecar = site.startSidecar('first');
    await sidecar.logged('Standing');
    await sleep(500);
    expect(await site.candidates()).toEqual([]);
    const program = await site.startProgram(sidecar, { name: 'first' });
    await program.reported('leads');
    expect(await site.candidates()).toEqual(['first']);
    program.signal('SIGKILL');
    await eventually(async () => (await site.candidates()).length === 0 || undefined, 'no candidate');
    expect(holder()).toBe('');
  });

  test('hand over at once when the one that leads is killed, and its restart waits', async () => {
    const { first, second } = await startTwo();
    // For as long as the former leader could still believe in its Lease, a release would have to wait (rule 8).
    const gaps: number[] = [];
    const [one, other] = [first, second];
    for (const [leads, waits] of [
      [one, other],
      [other, one],
      [one, other],
    ]) {
      if (!leads || !waits) continue;
      await sleep(1000);
      const killedAt = Date.now();
      leads.program.signal('SIGKILL');
      const { at } = await waits.program.reported('leads', killedAt);
      gaps.push(at - killedAt);
      leads.program = await site.startProgram(leads.sidecar, { name: leads.program.name });
      await leads.sidecar.logged('Stands as candidate');
    }
    console.log(`from the kill to the next leader: ${gaps.join(', ')} ms`);
    expect(Math.max(...gaps)).toBeLessThan(LEASE_MS / 4);
    expect(site.ledger.violations('invoices')).toEqual([]);
    expect(site.ledger.terms).toBe(4);
  });

  test('hand over when the sidecar is told to end, as soon as the program has stopped', async () => {
    const { first, second } = await startTwo({ stopMs: 700 });
    await sleep(500);
    const toldAt = Date.now();
    first.sidecar.signal('SIGTERM');
    const [stopped, led] = await Promise.all([
      first.program.reported('hasStopped', toldAt),
      second.program.reported('leads', toldAt),
    ]);
    expect(stopped.at - toldAt).toBeGreaterThanOrEqual(700);
    expect(led.at).toBeGreaterThanOrEqual(stopped.at);
    expect(led.at - stopped.at).toBeLessThan(LEASE_MS / 4);
    expect(await first.sidecar.ended).toBe(0);
    expect(await site.candidates()).toEqual(['second']);
    expect(site.ledger.violations('invoices')).toEqual([]);
  });

  test('that do not stop keep the Lease until it expires, and do not write beyond their time', async () => {
    const { first, second } = await startTwo({ isDeaf: true });
    const toldAt = Date.now();
    void first.sidecar.ask('/resign', 'POST').catch(() => {});
    await first.program.reported('isToStop', toldAt);
    const { at } = await second.program.reported('leads', toldAt);
    // The last renewal was at most one retry period before.
    expect(at - toldAt).toBeGreaterThan(LEASE_MS - 2000);
    await sleep(300);
    expect(site.ledger.writer).toBe('second');
    expect(first.program.reports.map(({ event }) => event)).not.toContain('hasStopped');
    expect(
      site.site.leases.history('default', 'invoices').map((one) => one.object.spec.holderIdentity),
    ).not.toContain('');
    // A pod whose program may still lead is no candidate.
    expect(await site.candidates()).toEqual(['second']);
    first.program.signal('SIGKILL');
    first.program = await site.startProgram(first.sidecar, { name: 'first' });
    await eventually(async () => (await site.candidates()).length === 2 || undefined, 'first is a candidate');
    expect(site.ledger.violations('invoices')).toEqual([]);
  });

  test('that are stopped for longer than they may lead find that out before they write', async () => {
    const { first, second } = await startTwo();
    first.program.signal('SIGSTOP');
    await first.sidecar.ask('/lead', 'POST');
    const toldAt = Date.now();
    void first.sidecar.ask('/resign', 'POST').catch(() => {});
    await second.program.reported('leads', toldAt);
    first.program.signal('SIGCONT');
    await first.program.reported('hasStopped', toldAt);
    await sleep(300);
    expect(site.ledger.writer).toBe('second');
    expect(site.ledger.violations('invoices')).toEqual([]);
    await eventually(async () => (await site.candidates()).length === 2 || undefined, 'first is a candidate');
  });

  test('stop when their sidecar is killed, and the others wait until the Lease expires', async () => {
    const { first, second } = await startTwo();
    await sleep(1000);
    const killedAt = Date.now();
    first.sidecar.signal('SIGKILL');
    await first.program.reported('hasStopped', killedAt);
    const { at } = await second.program.reported('leads', killedAt);
    expect(at - killedAt).toBeGreaterThan(LEASE_MS - 2000);
    expect(site.ledger.violations('invoices')).toEqual([]);
  });

  test('lead on beside a new sidecar only when what the former one has told is over', async () => {
    const first = await startPod('first');
    await first.program.reported('leads');
    const { fencingToken } = { fencingToken: site.lease()?.spec.leaseTransitions ?? 0 };
    first.sidecar.signal('SIGKILL');
    await first.sidecar.ended;
    const startedAt = Date.now();
    const again = site.startSidecar('first');
    const program = await site.startProgram(again, { name: 'another' });
    const { at } = await program.reported('leads');
    expect(at - startedAt).toBeGreaterThan(5000);
    expect(site.lease()?.spec.leaseTransitions).toBeGreaterThan(fencingToken);
    expect(site.ledger.violations('invoices')).toEqual([]);
  });
});
