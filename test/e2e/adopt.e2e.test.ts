import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { type Electors, startElectors } from '../control-plane/electors.ts';
import { blocksIn } from '../support/command-blocks.ts';
import {
  type AdoptPage,
  javaExample,
  nodeExample,
  openPage,
  pythonPackages,
  repository,
} from './adopt-page.ts';
import { eventually } from './coordinator.ts';
import { type GuideProgram, type GuideSite, startGuideSite } from './guide-site.ts';
import { Ledger } from './ledger.ts';

/** Fencing a former leader takes half a minute, and the first download of a page's requirements some minutes. */
const timeout = 600_000;
const strategy = 'coordinated-leader-election.dev/NewestVersion';

/** One site for each test: `audit` and `status` read all Leases. */
let site: GuideSite;

beforeEach(async () => {
  site = await startGuideSite();
  return () => site.stop();
});

/** The output of `audit` about a Lease. */
async function auditOf(page: AdoptPage, lease: string) {
  const { leases } = JSON.parse(await page.look('kubectl cle audit --for 3s -o json 2>/dev/null')) as {
    leases: readonly { name: string; elector: string }[];
  };
  return leases.find(({ name }) => name === lease)?.elector;
}

/** The names of all LeaseCandidates. */
async function candidates(page: AdoptPage): Promise<readonly string[]> {
  const names = await page.look('kubectl get leasecandidates --output name');
  return [...names.matchAll(/\/(\S+)/g)].map(([, name = '']) => name);
}

/** Waits until a copy is a candidate. */
async function standsBy(page: AdoptPage, name: string): Promise<void> {
  await eventually(async () => (await candidates(page)).includes(name) || undefined, `${name} stands by`);
}

/** The environment variables of a Pod's program. */
function podOf(name: string) {
  return { POD_NAME: name, POD_UID: `${name.at(-1)?.repeat(8)}-1111-4222-8333-444455556666` };
}

/** The lines about its work in a program's output, with their times. */
function workOf({ lines }: GuideProgram) {
  return lines.filter(({ text }) => /^works under the token /.test(text));
}

/** Starts an old replica: a plain elector of client-go that holds a Lease. */
async function startFormer(lease: string): Promise<Electors> {
  const electors = await startElectors(site.kubeconfig);
  onTestFinished(() => electors.stop());
  await electors.start({ id: 'former', lease, mode: 'plain' });
  await electors.waitFor({ id: 'former', event: 'startedLeading' });
  return electors;
}

/** When an old replica has stopped leading, in milliseconds since the Unix epoch. */
async function stoppedAt(electors: Electors): Promise<number> {
  const { wallMicros } = await electors.waitFor(
    { id: 'former', event: 'stoppedLeading' },
    { timeoutMs: 60_000 },
  );
  return wallMicros / 1000;
}

/**
 * When a program wrote a line into a ledger, in milliseconds since the Unix epoch. The program adds the time to each
 * line.
 */
function writtenAt(file: string, index: number): number {
  return Date.parse(readFileSync(file, 'utf8').split('\n').at(index)?.split(' ')[2] ?? '');
}

describe('the pages of docs/adopt', { timeout }, () => {
  test('kopf.md', async () => {
    const page = await openKopf();
    const flags = { strategy };
    const sidecars = [
      await site.startSidecar('tenants', { ...flags, identity: 'tenants-1' }),
      await site.startSidecar('tenants', { ...flags, identity: 'tenants-2' }),
    ];
    const start = (pod: string, address: string) =>
      site.startProgram(['python3', join(repository, 'examples/kopf/tenants.py')], {
        PYTHONPATH: pythonPackages,
        POD_NAME: pod,
        SIDECAR: address,
      });
    const programs = sidecars.map(({ identity, address }) => start(identity, address));
    const leader = await eventually(() => site.holders('tenants').at(-1), 'a Pod leads');
    const at = sidecars.findIndex(({ identity }) => identity === leader);

    // The handlers run only in the Pod that leads.
    expect(await welcomed('tenant-1')).toBe(`by ${leader}, with the fencing token 0`);
    // It stops on request. The same process may lead, and run kopf, again.
    const other = sidecars[1 - at]?.identity ?? '';
    await standsBy(page, other);
    await fetch(`http://${sidecars[at]?.address}/resign`, { method: 'POST' });
    await eventually(() => site.holders('tenants').includes(other) || undefined, 'the other Pod leads');
    expect(await welcomed('tenant-2')).toMatch(`by ${other},`);
    // The new leader handles objects that were created while there was no leader.
    const crashed = programs[1 - at];
    crashed?.child.kill('SIGKILL');
    expect(await welcomed('tenant-3')).toMatch(`by ${leader},`);
    const restarted = start(other, sidecars[1 - at]?.address ?? '');
    await standsBy(page, other);

    await page.follow('kubectl cle audit');
    expect(await auditOf(page, 'tenants')).toBe('participant');
    await page.follow('kubectl cle explain tenants');
    expect(page.remaining()).toEqual([]);

    // Going back: a Pod that shuts down cleanly ends kopf first, and leaves only the Lease.
    programs[at]?.child.kill('SIGTERM');
    const [code] = (await once(programs[at]?.child ?? process, 'exit')) as [number];
    expect(code).toBe(0);
    expect(programs[at]?.lines.map(({ text }) => text).join('\n')).toContain('Stop-flag is set');
    restarted.child.kill('SIGTERM');
    await Promise.all(sidecars.map((sidecar) => sidecar.stop()));
    expect(await candidates(page)).toEqual([]);
    await page.look('kubectl delete lease tenants');
  });

  test.each([
    { name: 'the leader resigns', isTerminated: false },
    { name: 'the leader resigns, and is terminated while the handler runs', isTerminated: true },
  ])('kopf.md: the Lease is released after a plain function as handler has ended: $name', async (row) => {
    await openKopf();
    const { address } = await site.startSidecar('tenants');
    const program = site.startProgram(['python3', '-c', slowOperator], {
      PYTHONPATH: `${pythonPackages}:${join(repository, 'examples/kopf')}`,
      SIDECAR: address,
    });
    const printed = (text: string) => program.lines.find((line) => line.text === text);
    await createNamespace('slow', { slow: 'yes' });
    await eventually(() => printed('begins'), 'the handler runs');
    // The answer comes after the release.
    const resigned = fetch(`http://${address}/resign`, { method: 'POST' });
    if (row.isTerminated) {
      await eventually(
        () => program.lines.find(({ text }) => text.includes('Stop-flag is set')),
        'kopf stops',
      );
      program.child.kill('SIGTERM');
    }
    await eventually(
      () => site.holders('tenants').includes('') || undefined,
      'the Lease is released',
      40_000,
      5,
    );
    expect(printed('ends')).toBeDefined();
    await resigned;
  });

  test('kopf.md: copies with the same priority pause each other, until the record of a crashed one expires', async () => {
    await openKopf();
    const check = site.startProgram(['python3', join(import.meta.dirname, 'kopf-peering.py')], {
      PYTHONPATH: pythonPackages,
    });
    const [code] = (await once(check.child, 'exit')) as [number];
    expect(code, check.lines.map(({ text }) => text).join('\n')).toBe(0);
  });

  test('java.md, from fabric8', async () => {
    const page = await openPage('java', site);
    await page.follow('mvn').catch((cause: unknown) => {
      throw new Error('Maven cannot build the examples: it needs Maven Central, or a mirror of it', {
        cause,
      });
    });
    const command = javaExample('WithFabric8');
    const former = site.startProgram(command, { POD_NAME: 'former' });
    await eventually(() => workOf(former)[5], 'the former copy works', 60_000);
    await page.follow('kubectl cle audit');
    expect(await auditOf(page, 'prices')).toBe('plain');

    const sidecar = await site.startSidecar('prices', { strategy, identity: 'prices-1' });
    const copy = site.startProgram(command, { SIDECAR: sidecar.address });
    await eventually(() => workOf(copy)[0], 'the new copy works', 90_000);
    const standby = await site.startSidecar('prices', { strategy, identity: 'prices-2' });
    const waiting = site.startProgram(command, { SIDECAR: standby.address });
    await standsBy(page, 'prices-2');
    await page.follow('kubectl cle audit');
    expect(await auditOf(page, 'prices')).toBe('participant');
    await page.follow('kubectl cle explain prices');
    expect(page.remaining()).toEqual([]);
    expect(workOf(former).at(-1)?.at).toBeLessThan(workOf(copy)[0]?.at ?? 0);

    // Going back.
    const restarted = site.startProgram(command, { POD_NAME: 'former-2' });
    await sleep(5000);
    expect(workOf(restarted)).toEqual([]);
    waiting.child.kill('SIGTERM');
    await standby.stop();
    copy.child.kill('SIGTERM');
    await sidecar.stop();
    await eventually(() => workOf(restarted)[0], 'a former copy works', 60_000);
    expect(workOf(copy).at(-1)?.at).toBeLessThan(workOf(restarted)[0]?.at ?? 0);
  });

  test('node.md', async () => {
    const page = await openPage('node', site);
    const command = await nodeExample(site.folder);
    const file = join(site.folder, 'checkout.ledger');
    const electors = await startFormer('checkout');
    await page.follow('kubectl cle audit');
    expect(await auditOf(page, 'checkout')).toBe('plain');

    const copies = ['checkout-1', 'checkout-2'].map((name) =>
      site.startProgram(command, { ...podOf(name), LEDGER: file }),
    );
    const formerStopped = await stoppedAt(electors);
    const ledger = new Ledger(file);
    await eventually(() => ledger.writer, 'a new copy works', 90_000);
    expect(writtenAt(file, 0)).toBeGreaterThan(formerStopped);
    await page.follow('kubectl cle audit');
    expect(await auditOf(page, 'checkout')).toBe('participant');
    await page.follow('kubectl cle explain checkout');
    expect(page.remaining()).toEqual([]);

    const leader = copies.findIndex((_, index) => ledger.writer === `checkout-${index + 1}`);
    copies[leader]?.child.kill('SIGTERM');
    await eventually(() => ledger.writer !== `checkout-${leader + 1}` || undefined, 'the other copy works');

    // Going back.
    await electors.start({ id: 'former-again', lease: 'checkout', mode: 'plain' });
    copies[1 - leader]?.child.kill('SIGTERM');
    await electors.waitFor({ id: 'former-again', event: 'startedLeading' });
    expect(await candidates(page)).toEqual([]);
    expect(ledger.violations('checkout')).toEqual([]);
  });

  test('unchanged-program.md', async () => {
    const page = await openPage('unchanged-program', site);
    const manifest = blocksIn(page.text).findLast(({ language }) => language === 'yaml');
    const container = parse(manifest?.text ?? '') as { command: readonly string[]; args: readonly string[] };
    const main = container.command.findIndex((word) => word.endsWith('main.js'));
    const script = join(repository, 'examples/legacy/make-reports.sh');
    const args = [...container.command.slice(main + 1), ...container.args]
      .filter((word) => !word.startsWith('--health-listen'))
      .map((word) => word.replace('/opt/reports/make-reports.sh', script));
    const file = join(site.folder, 'reports.ledger');
    const start = (name: string) =>
      site.startProgram([process.execPath, join(repository, 'src/main.ts'), ...args], {
        ...podOf(name),
        LEDGER: file,
        CLE_PARTICIPATE_BINARY_VERSION: '1.4.2',
      });
    const electors = await startFormer('reports');
    await page.follow('kubectl cle audit');
    expect(await auditOf(page, 'reports')).toBe('plain');

    const copies = [start('reports-1'), start('reports-2')];
    const formerStopped = await stoppedAt(electors);
    const ledger = new Ledger(file);
    await eventually(() => ledger.writer, 'a new copy works', 90_000);
    // The program writes times in whole seconds.
    expect(writtenAt(file, 0)).toBeGreaterThanOrEqual(Math.floor(formerStopped / 1000) * 1000);
    await page.follow('kubectl cle audit');
    expect(await auditOf(page, 'reports')).toBe('participant');
    await page.follow('kubectl cle explain reports');
    expect(page.remaining()).toEqual([]);

    const leader = copies.findIndex((_, index) => ledger.writer === `reports-${index + 1}`);
    copies[leader]?.child.kill('SIGTERM');
    await eventually(() => ledger.writer !== `reports-${leader + 1}` || undefined, 'the other copy works');

    // Going back.
    await electors.start({ id: 'former-again', lease: 'reports', mode: 'plain' });
    copies[1 - leader]?.child.kill('SIGTERM');
    await electors.waitFor({ id: 'former-again', event: 'startedLeading' });
    expect(await candidates(page)).toEqual([]);
    expect(ledger.violations('reports')).toEqual([]);
  });

  test('jobs.md', async () => {
    const page = await openPage('jobs', site);
    const file = join(site.folder, 'beside.ledger');
    const leader = site.startProgram(await nodeExample(site.folder), {
      ...podOf('checkout-3'),
      LEDGER: file,
    });
    const ledger = new Ledger(file);
    await eventually(() => ledger.writer, 'the leader works', 60_000);

    await page.follow('coordinated-leader-election participate');
    const written = ledger.length;
    await eventually(() => ledger.length > written || undefined, 'the leader works again');
    expect(ledger.terms).toBe(2);
    expect(leader.lines.map(({ text }) => text)).toContain('leads no longer');
    await page.follow('kubectl cle status');
    expect(page.remaining()).toEqual([]);
    expect(await candidates(page)).toEqual(['checkout-3-33333333']);
  });
});

let kopf: Promise<void> | undefined;

/** Opens the page about kopf. The first test installs kopf according to the page. */
async function openKopf(): Promise<AdoptPage> {
  const page = await openPage('kopf', site);
  kopf ??= page.follow('pip install').catch((cause: unknown) => {
    throw new Error('pip cannot install kopf: this test needs PyPI, or a mirror of it', { cause });
  });
  await kopf;
  return page;
}

/** The operator of examples/kopf, with one more handler. */
const slowOperator = `
import time, kopf, tenants

@kopf.on.create("namespaces", labels={"slow": kopf.PRESENT})
def slow(**_):
    print("begins", flush=True)
    time.sleep(3)
    print("ends", flush=True)

tenants.main()
`;

async function createNamespace(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
  await site.site.cluster.request('POST', '/api/v1/namespaces', { metadata: { name, labels } });
}

/** Creates a namespace of a tenant. Resolves to the text that the operator of examples/kopf has written on it. */
async function welcomed(name: string): Promise<string> {
  await createNamespace(name, { tenant: 'yes' });
  return eventually(
    async () => {
      const { metadata } = await site.site.cluster.request<Welcomed>('GET', `/api/v1/namespaces/${name}`);
      return metadata.annotations?.['example.com/welcomed'];
    },
    `${name} is welcomed`,
    60_000,
  );
}

interface Welcomed {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}
