// A program with this project's library, in a container: crash-programs.ts says how it is started.
import { appendFileSync } from 'node:fs';
import { participate } from '../../../../src/index.ts';
import type { ElectorTimes } from './crash-programs.ts';

const [lease = '', times = ''] = process.argv.slice(2);
const { leaseDuration, renewDeadline, retryPeriod }: ElectorTimes = JSON.parse(times);
const { POD_NAME: name = '', POD_UID: uid = '', LEDGER = '' } = process.env;

await participate(
  {
    lease,
    binaryVersion: '1.0.0',
    pod: { name, uid },
    leaseDurationMs: leaseDuration * 1000,
    renewDeadlineMs: renewDeadline * 1000,
    retryPeriodMs: retryPeriod * 1000,
  },
  ({ signal }) => {
    appendFileSync(LEDGER, `0 ${name} ${process.pid} ${Date.now()}000000\n`);
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  },
);
