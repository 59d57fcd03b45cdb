// The minimum work for the events of bench/events.ts: reads the lines of both watches and parses them. It prints only
// that it has begun.
import { request } from 'node:https';
import { LineSplitter } from '../src/kubernetes/list-watch.ts';

const { url, ca } = JSON.parse(process.argv[2] ?? '') as { readonly url: string; readonly ca: string };
let parsed = 0;

function watch(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = request(`${url}${path}?watch=true`, { ca }, (answer) => {
      const lines = new LineSplitter(1_000_000);
      answer.on('data', (chunk: Buffer) => {
        for (const line of lines.push(chunk)) if (JSON.parse(line)) parsed += 1;
      });
      answer.on('end', () => process.exit());
      resolve();
    });
    call.on('error', reject);
    call.end();
  });
}

await watch('/apis/coordination.k8s.io/v1/leases');
await watch('/apis/coordination.k8s.io/v1beta1/leasecandidates');
process.stdout.write('Reading\n');
process.once('disconnect', () => process.exit());
process.once('exit', () => process.stderr.write(`${parsed} events were parsed\n`));
