// For how long the largest requests hold the embedded API server, and how long a small one then waits:
//   npm run bench:event-loop [-- --objects 100000 --only list --data-dir DIRECTORY]
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { startApiServer } from '../src/apiserver/api-server.ts';
import { systemClock } from '../src/support/system-clock.ts';
import type { Asked, LargeAnswer } from './event-loop-client.ts';

const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '100000' },
    only: { type: 'string', default: '' },
    'data-dir': { type: 'string' },
  },
});
const objects = Number(values.objects);
const dataDirectory = values['data-dir'];

const TOKEN = 'bench';
const server = await startApiServer({
  clock: systemClock,
  listen: { host: '127.0.0.1', port: 0 },
  tokens: [{ token: TOKEN, user: { name: 'bench', groups: [] }, rules: 'admin' }],
  ...(dataDirectory !== undefined && { dataDirectory }),
});
const client = new Worker(new URL('./event-loop-client.ts', import.meta.url), {
  workerData: { port: server.address.port, token: TOKEN },
});

/** Has the client ask, while small requests go on beside it. */
async function ask(asked: Asked): Promise<LargeAnswer> {
  client.postMessage(asked);
  const [answer] = (await once(client, 'message')) as [LargeAnswer];
  return answer;
}

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const manyLabels = Object.fromEntries(Array.from({ length: 65_000 }, (_, n) => [`l${n}`, 'v']));
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const gzip = { 'accept-encoding': 'gzip' };
const patch = { 'content-type': 'application/merge-patch+json' };

/** A parameter of about 900 kB: not much more is a request line that is taken. */
function selector(parameter: string, term: (n: number) => string): string {
  const terms: string[] = [];
  let bytes = 0;
  for (let n = 0; bytes < 900_000; n += 1) {
    const next = term(n);
    terms.push(next);
    bytes += next.length + 1;
  }
  // Not encoded, so that it has as many terms as can be.
  return `${parameter}=${terms.join(',')}`;
}

function lease(name: string, labels?: object): string {
  return JSON.stringify({ metadata: { name, ...(labels && { labels }) }, spec: { holderIdentity: name } });
}

interface Case extends Asked {
  readonly name: string;
}

const first = `${LEASES}/lease-000000`;
/** In this order: the last ones delete what the others need. */
const cases: readonly Case[] = [
  { name: 'create 65,000 labels', method: 'POST', path: LEASES, body: lease('labels', manyLabels) },
  {
    name: 'patch 65,000 labels',
    method: 'PATCH',
    path: `${LEASES}/labels`,
    headers: patch,
    body: '{"spec":{"leaseTransitions":1}}',
  },
  { name: 'get 65,000 labels', method: 'GET', path: `${LEASES}/labels` },
  { name: 'delete 65,000 labels', method: 'DELETE', path: `${LEASES}/labels` },
  {
    name: 'labelSelector a0,a1,...',
    method: 'GET',
    path: `${LEASES}?limit=1&${selector('labelSelector', (n) => `a${n}`)}`,
  },
  {
    name: 'labelSelector !a0,!a1,...',
    method: 'GET',
    path: `${LEASES}?${selector('labelSelector', (n) => `!a${n}`)}`,
  },
  {
    name: 'labelSelector a in (0,1,...)',
    method: 'GET',
    path: `${LEASES}?${selector('labelSelector', (n) => (n === 0 ? 'a+in+(0' : `${n}`))})`,
  },
  { name: 'labelSelector ,,,', method: 'GET', path: `${LEASES}?labelSelector=${','.repeat(900_000)}` },
  {
    name: 'labelSelector with a wrong key',
    method: 'GET',
    path: `${LEASES}?labelSelector=${'a'.repeat(900_000)}`,
  },
  {
    name: 'fieldSelector name!=0,...',
    method: 'GET',
    path: `${LEASES}?${selector('fieldSelector', (n) => `metadata.name!=${n}`)}`,
  },
  {
    name: 'fieldSelector with escapes',
    method: 'GET',
    path: `${LEASES}?fieldSelector=metadata.name!=${'\\,'.repeat(450_000)}`,
  },
  { name: 'fieldSelector ,,,', method: 'GET', path: `${LEASES}?fieldSelector=${','.repeat(900_000)}` },
  { name: '900 kB of unknown parameters', method: 'GET', path: `${first}?${'a&'.repeat(450_000)}` },
  { name: 'continue of 900 kB', method: 'GET', path: `${LEASES}?continue=${'a'.repeat(900_000)}` },
  { name: 'list', method: 'GET', path: LEASES },
  { name: 'list, gzip', method: 'GET', path: LEASES, headers: gzip },
  { name: 'list, pretty', method: 'GET', path: `${LEASES}?pretty=1` },
  { name: 'list as a table', method: 'GET', path: LEASES, headers: table },
  {
    name: 'list as a table with objects',
    method: 'GET',
    path: `${LEASES}?includeObject=Object`,
    headers: table,
  },
  {
    name: 'list of metadata',
    method: 'GET',
    path: LEASES,
    headers: { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' },
  },
  {
    name: 'list by a field that none has',
    method: 'GET',
    path: `${LEASES}?fieldSelector=metadata.name!=x,metadata.namespace!=default`,
  },
  { name: 'list by a label that none has', method: 'GET', path: `${LEASES}?labelSelector=x=y` },
  { name: 'a page of the present', method: 'GET', path: `${LEASES}?limit=500` },
  {
    name: 'a page of 9,000 changes ago',
    method: 'GET',
    path: `${LEASES}?limit=500&resourceVersion=${objects - 9000}`,
  },
  { name: 'list in YAML', method: 'GET', path: LEASES, headers: { accept: 'application/yaml' } },
  {
    name: 'watch with initial events',
    method: 'GET',
    path: `${LEASES}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=20`,
  },
  {
    name: 'watch of 9,000 events',
    method: 'GET',
    path: `${LEASES}?watch=1&resourceVersion=${objects - 9000}&timeoutSeconds=5`,
  },
  {
    name: 'watch with initial events, none selected',
    method: 'GET',
    path: `${LEASES}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&fieldSelector=metadata.name!=x,metadata.namespace!=default&timeoutSeconds=5`,
  },
  {
    name: 'watch as a table with initial events',
    method: 'GET',
    path: `${LEASES}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=20`,
    headers: table,
  },
  { name: 'deletecollection, dry run', method: 'DELETE', path: `${LEASES}?dryRun=All` },
  { name: 'deletecollection', method: 'DELETE', path: LEASES },
  {
    name: 'deletion of a namespace of as many',
    method: 'DELETE',
    path: '/api/v1/namespaces/full',
  },
];

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

/** The most processor time that this thread spent between two beats: what else the machine does is not in it. */
let busiestMs = 0;
let before = process.threadCpuUsage();
setInterval(() => {
  const { user, system } = process.threadCpuUsage(before);
  before = process.threadCpuUsage();
  busiestMs = Math.max(busiestMs, (user + system) / 1000);
}, 1).unref();

async function fill(namespace: string): Promise<void> {
  const startedAt = performance.now();
  await ask({
    method: 'FILL',
    path: `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
    count: objects,
  });
  process.stderr.write(`${objects} Leases created in ${Math.round(performance.now() - startedAt)} ms\n`);
}

const chosen = cases.filter(({ name }) => name.includes(values.only));
await ask({
  method: 'POST',
  path: '/api/v1/namespaces',
  body: JSON.stringify({ metadata: { name: 'full' } }),
});
await fill('default');
process.stdout.write(
  '| request | code | MB | s | held for at most, ms | of processor time | a small request, at most, ms |\n|---|---|---|---|---|---|---|\n',
);
for (const { name, ...asked } of chosen) {
  if (asked.path.endsWith('/full')) await fill('full');
  await new Promise((resolve) => setTimeout(resolve, 100));
  delay.reset();
  busiestMs = 0;
  const { code, bytes, durationMs, slowestMs } = await ask(asked);
  // What goes on after the answer counts as well: streams, and what a deletion leads to.
  await new Promise((resolve) => setTimeout(resolve, asked.path.endsWith('/full') ? 10_000 : 100));
  const heldMs = delay.max / 1e6;
  process.stdout.write(
    `| ${name} | ${code} | ${(bytes / 1e6).toFixed(1)} | ${(durationMs / 1000).toFixed(1)} | ${heldMs.toFixed(0)} | ${busiestMs.toFixed(0)} | ${slowestMs.toFixed(0)} |\n`,
  );
}
await client.terminate();
await server.close();
process.exit(0);
