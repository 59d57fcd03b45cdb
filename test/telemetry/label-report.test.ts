import { expect, test } from 'vitest';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { createLabelReport } from '../../src/telemetry/label-report.ts';
import { makeTelemetry } from './make-reported.ts';

const LEASE = 'default/web';
const add = { kind: 'add', pod: { name: 'web-0', uid: 'u' } } as const;
const remove = { kind: 'remove', pod: { name: 'web-1', uid: 'v' } } as const;
const forbidden = new ApiError({ method: 'PATCH', path: '/pods/web-0', status: 403, message: 'no' });

function makeReport() {
  let at = 0;
  const telemetry = makeTelemetry();
  const report = createLabelReport({ ...telemetry, now: () => at });
  return {
    ...telemetry,
    report,
    passes: (ms: number) => {
      at += ms;
    },
  };
}

test('labels that are written are told of, and counted', async () => {
  const { report, lines, measure } = makeReport();
  report.labelsListed(undefined);
  report.labelWritten(LEASE, remove, undefined);
  report.labelWritten(LEASE, add, undefined);
  expect(lines).toMatchObject([
    { level: 'info', lease: LEASE, pod: 'web-1', action: 'remove' },
    { level: 'info', lease: LEASE, pod: 'web-0', action: 'add' },
  ]);
  for (const call of ['list', 'add', 'remove']) {
    const counter = `cle_leader_label_calls_total{call="${call}",result="success"}`;
    await expect(measure(counter)).resolves.toBe(1);
  }
});

test('what fails in the same way is told once a minute, and counted each time', async () => {
  const { report, lines, measure, passes } = makeReport();
  for (let second = 0; second < 65; second++) {
    report.labelWritten(`default/lease-${second}`, add, forbidden);
    report.labelsListed(forbidden);
    passes(1000);
  }
  const told = lines.map(({ level, msg }) => `${level}: ${msg}`);
  expect(told.filter((line) => line === 'warn: Writing a leader label failed')).toHaveLength(2);
  expect(told.filter((line) => line.startsWith('warn: Listing Pods for leader labels failed'))).toHaveLength(
    2,
  );
  await expect(measure('cle_leader_label_calls_total{call="add",result="error"}')).resolves.toBe(65);
  await expect(measure('cle_leader_label_calls_total{call="list",result="error"}')).resolves.toBe(65);
});

test('a Lease whose name is too long for a label is told of', () => {
  const { report, lines } = makeReport();
  report.unlabelable(LEASE);
  expect(lines).toMatchObject([
    { level: 'warn', lease: LEASE, msg: expect.stringContaining('63 characters') },
  ]);
});
