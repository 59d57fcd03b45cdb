// For how long the largest requests hold the embedded API server, and how long a small one then waits:
//   npm run bench -- event-loop [--objects 100000 --only list --data-dir DIRECTORY]
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
/** The limits of the server, see docs/embedded-server.md. */
const BODY = 32 * 1024;
const YAML_BODY = 4 * 1024;
const QUERY = 63 * 1024;
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const gzip = { 'accept-encoding': 'gzip' };
const yaml = { 'content-type': 'application/yaml' };
const asYaml = { accept: 'application/yaml' };
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const jsonPatch = { 'content-type': 'application/json-patch+json' };
const strategicPatch = { 'content-type': 'application/strategic-merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };

/** As many of these pieces as fit into so many bytes. */
function pieces(bytes: number, separator: string, piece: (n: number) => string): string {
  const found: string[] = [];
  for (let n = 0, left = bytes; ; n += 1) {
    const next = piece(n);
    left -= next.length + separator.length;
    if (left < 0) return found.join(separator);
    found.push(next);
  }
}

/** A request line as long as it may be. Not encoded, so that it has as many terms as possible. */
function selector(parameter: string, term: (n: number) => string): string {
  return `${parameter}=${pieces(QUERY, ',', term)}`;
}

/** A Lease with many labels. With the managedFields for them, 24 KiB of labels become nearly the largest object there may be. */
function labelled(name: string, prefix: string, value = '', bytes = 24 * 1024): string {
  const labels = pieces(bytes, ',', (n) => `"${prefix}${n}":"${value}"`);
  return `{"metadata":{"name":"${name}","labels":{${labels}}}}`;
}

const owners = (name: string) =>
  `{"metadata":{"name":"${name}","ownerReferences":[${pieces(BODY - 100, ',', (n) => `{"apiVersion":"v1","kind":"A","name":"a","uid":"${n}"}`)}]}}`;

interface Case extends Asked {
  readonly name: string;
}

const first = `${LEASES}/lease-000000`;
const create = { method: 'POST', path: LEASES };
const change = { method: 'PATCH', path: `${LEASES}/labels` };
/** In this order: the last ones delete what the others need. */
const cases: readonly Case[] = [
  { name: 'create labels', ...create, body: labelled('labels', 'l') },
  { name: 'create wrong labels', ...create, body: labelled('wrong', '$', '$', BODY - 100) },
  {
    name: 'create finalizers',
    ...create,
    body: `{"metadata":{"name":"f","finalizers":[${pieces(BODY - 100, ',', (n) => `"a/${n}"`)}]}}`,
  },
  { name: 'create owners', ...create, body: owners('owners') },
  {
    name: 'create unknown fields',
    ...create,
    body: `{"metadata":{"name":"u"},${pieces(BODY - 100, ',', (n) => `"${n}":1`)}}`,
  },
  {
    name: 'create fields twice',
    ...create,
    body: `{"metadata":{"name":"d"},${pieces(BODY - 100, ',', () => '"a":1')}}`,
  },
  {
    name: 'create a thousand levels',
    ...create,
    body: `{"metadata":{"name":"deep"},"a":${'['.repeat(999)}${']'.repeat(999)}}`,
  },
  { name: 'create too many levels', ...create, body: '['.repeat(BODY) },
  { name: 'merge patch of labels', ...change, headers: mergePatch, body: labelled('labels', 'l', 'w') },
  {
    name: 'one field of a large object',
    ...change,
    headers: mergePatch,
    body: '{"spec":{"leaseTransitions":1}}',
  },
  { name: 'merge patch beyond the limit', ...change, headers: mergePatch, body: labelled('labels', 'n') },
  {
    name: 'strategic merge patch of labels',
    ...change,
    headers: strategicPatch,
    body: labelled('labels', 'l', 'v', BODY - 100),
  },
  {
    name: 'strategic merge patch of owners',
    method: 'PATCH',
    path: `${LEASES}/owners`,
    headers: strategicPatch,
    body: owners('owners'),
  },
  {
    name: 'json patch, adds',
    ...change,
    headers: jsonPatch,
    body: `[${pieces(BODY - 100, ',', (n) => `{"op":"add","path":"/metadata/labels/j${n}","value":""}`)}]`,
  },
  {
    name: 'json patch, copies',
    ...change,
    headers: jsonPatch,
    body: `[${pieces(BODY - 100, ',', (n) => `{"op":"copy","from":"/metadata/labels","path":"/a${n}"}`)}]`,
  },
  {
    name: 'json patch, tests',
    ...change,
    headers: jsonPatch,
    body: `[${pieces(BODY - 100, ',', () => '{"op":"test","path":"/metadata/labels/l0","value":""}')}]`,
  },
  {
    name: 'apply of labels',
    ...change,
    path: `${LEASES}/applied?fieldManager=a`,
    headers: apply,
    body: `apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: applied\n  labels:\n${pieces(YAML_BODY - 200, '\n', (n) => `    l${n}: ""`)}`,
  },
  {
    name: 'the same apply again',
    ...change,
    path: `${LEASES}/applied?fieldManager=b&force=true`,
    headers: apply,
    body: `apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: applied\n  labels:\n${pieces(YAML_BODY - 200, '\n', (n) => `    l${n}: ""`)}`,
  },
  { name: 'YAML, flow', ...create, headers: yaml, body: `a: [${pieces(YAML_BODY - 20, ',', () => '1')}]` },
  {
    name: 'YAML, aliases',
    ...create,
    headers: yaml,
    body: `a: [${pieces(YAML_BODY - 20, ',', (n) => `&${n.toString(36)} 1,*${n.toString(36)}`)}]`,
  },
  {
    name: 'YAML, one alias often',
    ...create,
    headers: yaml,
    body: `a: &a [1,1]\nb: [${pieces(YAML_BODY - 40, ',', () => '*a')}]`,
  },
  {
    name: 'YAML, merges',
    ...create,
    headers: yaml,
    body: `a: &a {b: 1}\nc: [${pieces(YAML_BODY - 40, ',', () => '{<<: *a}')}]`,
  },
  { name: 'YAML, levels', ...create, headers: yaml, body: '['.repeat(YAML_BODY) },
  { name: 'YAML, keys', ...create, headers: yaml, body: pieces(YAML_BODY - 20, '\n', (n) => `a${n}: 1`) },
  { name: 'get a large object', method: 'GET', path: `${LEASES}/labels` },
  { name: 'get a large object in YAML', method: 'GET', path: `${LEASES}/labels`, headers: asYaml },
  { name: 'get an applied object in YAML', method: 'GET', path: `${LEASES}/applied`, headers: asYaml },
  { name: 'delete a large object', method: 'DELETE', path: `${LEASES}/labels` },
  { name: 'a body of 30 MB', ...create, body: 'x'.repeat(30_000_000) },
  {
    name: '60 kB of Accept',
    method: 'GET',
    path: first,
    headers: { accept: pieces(60_000, ',', (n) => `a/b;q=0.${n}`) },
  },
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
  { name: 'labelSelector ,,,', method: 'GET', path: `${LEASES}?labelSelector=${','.repeat(QUERY)}` },
  {
    name: 'labelSelector with a wrong key',
    method: 'GET',
    path: `${LEASES}?labelSelector=${'a'.repeat(QUERY)}`,
  },
  {
    name: 'fieldSelector name!=0,...',
    method: 'GET',
    path: `${LEASES}?${selector('fieldSelector', (n) => `metadata.name!=${n}`)}`,
  },
  {
    name: 'fieldSelector with escapes',
    method: 'GET',
    path: `${LEASES}?fieldSelector=metadata.name!=${'\\,'.repeat(QUERY / 2)}`,
  },
  { name: 'fieldSelector ,,,', method: 'GET', path: `${LEASES}?fieldSelector=${','.repeat(QUERY)}` },
  { name: '63 KiB of unknown parameters', method: 'GET', path: `${first}?${'a&'.repeat(QUERY / 2)}` },
  { name: 'continue of 63 KiB', method: 'GET', path: `${LEASES}?continue=${'a'.repeat(QUERY)}` },
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
