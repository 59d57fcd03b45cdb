import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { ownCandidatesPath } from '../control-plane/candidate-resource.ts';
import { type Names, type NormalAnswer, newNames, normalAnswer, normalEvent } from './differential/normal.ts';
import { type Request, requestFor } from './differential/request.ts';
import { type Step, step } from './differential/steps.ts';
import { type Memory, newMemory, remember, type World } from './differential/world.ts';
import { reconciled } from './known-differences.ts';
import type { Answer, ConformanceTarget } from './target.ts';
import type { WatchedEvent, WatchedStream } from './watched-stream.ts';
import { uniqueName } from './workspace.ts';

/** The size of the test. */
export interface DifferentialSettings {
  readonly seed: number;
  /** Number of sequences. */
  readonly runs: number;
}

/** An exchange that the servers answered differently. */
export interface Difference {
  /** All requests up to that one, as sent to the real server, with the status codes of its answers. */
  readonly story: readonly string[];
  readonly real: unknown;
  readonly embedded: unknown;
}

/** One of the two servers, with its reported events. */
interface Side {
  readonly target: ConformanceTarget;
  readonly memory: Memory;
  readonly names: Names;
  readonly watches: readonly WatchedStream[];
}

/** Random sequences of requests, with this maximum length. */
const maxLength = 25;

/**
 * Sends the same random sequences of requests to a real server and to the embedded one.
 * @throws Error with the shortest sequence after which they differ, and both answers
 */
export async function compareServers(
  real: ConformanceTarget,
  embedded: ConformanceTarget,
  { seed, runs }: DifferentialSettings,
): Promise<void> {
  const details = await fc.check(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength, size: 'max' }), async (steps) => {
      const difference = await firstDifference(real, embedded, steps);
      if (difference !== undefined) throw new Error(report(difference, real, embedded));
    }),
    { seed, numRuns: runs },
  );
  if (!details.failed) return;
  const problem =
    details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance);
  throw new Error(
    `${problem}\n(CONFORMANCE_SEED=${details.seed}, found by run ${details.numRuns}, made shorter ${details.numShrinks} times)`,
  );
}

/** Sends the steps to both servers, in a namespace of their own, until they differ. Compares the watch events, too. */
async function firstDifference(
  real: ConformanceTarget,
  embedded: ConformanceTarget,
  steps: readonly Step[],
): Promise<Difference | undefined> {
  const world: World = {
    namespace: uniqueName('differential'),
    candidateVersions: real.candidateVersions,
    comparesCustom: real.hasCustomCandidates,
  };
  const sides = { real: await enter(real, world), embedded: await enter(embedded, world) };
  try {
    const story: string[] = [];
    for (const each of steps) {
      const [request, told] = [
        requestFor(each, world, sides.real.memory),
        requestFor(each, world, sides.embedded.memory),
      ];
      const [answer, other] = await Promise.all([ask(sides.real, request), ask(sides.embedded, told)]);
      const answers = reconciled(
        {
          real: normalAnswer(answer, sides.real.names, request.listRevision),
          embedded: normalAnswer(other, sides.embedded.names, told.listRevision),
        },
        request,
        real.minor,
      );
      story.push(`${describeRequest(request)} -> ${answer.code}`);
      if (!isDeepStrictEqual(answers.real, answers.embedded)) return { story, ...answers };
    }
    const [seen, told] = await Promise.all([eventsOf(sides.real, world), eventsOf(sides.embedded, world)]);
    for (const [index, { query, events }] of seen.entries()) {
      const others = told[index]?.events ?? [];
      const answers = eventPair(events, others, sides, real.minor);
      if (isDeepStrictEqual(answers.real, answers.embedded)) continue;
      return { story: [...story, `events of a watch of ${query}`], ...answers };
    }
    return undefined;
  } finally {
    for (const { watches } of Object.values(sides)) for (const watch of watches) watch.close();
  }
}

async function enter(target: ConformanceTarget, world: World): Promise<Side> {
  const { namespace } = world;
  const made = await target.request('POST', '/api/v1/namespaces', {
    body: { metadata: { name: namespace } },
  });
  if (made.code !== 201) throw new Error(`${target.name}: ${made.text}`);
  const [path] = watched(world);
  const list = await target.request('GET', path ?? '');
  const start = list.json.metadata.resourceVersion;
  const watches = await Promise.all(
    watched(world).map((each) =>
      target.watch(`${each}${each.includes('?') ? '&' : '?'}resourceVersion=${start}`),
    ),
  );
  return { target, memory: newMemory(start), names: newNames(), watches };
}

/** The watches that run all the time: all objects, and a selection. */
function watched({ namespace, candidateVersions, comparesCustom }: World): readonly string[] {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const candidates = `/apis/coordination.k8s.io/${candidateVersions[0]}/namespaces/${namespace}/leasecandidates`;
  const custom = comparesCustom ? [`${ownCandidatesPath(namespace)}?fieldSelector=spec.leaseName%3Dl1`] : [];
  return [leases, `${leases}?labelSelector=a%3D1`, candidates, ...custom];
}

/** Stands for the answer if a server has cut the connection instead. */
const cutOff: Answer = {
  code: 0,
  headers: {},
  warnings: [],
  text: '{}',
  json: {} as Answer['json'],
};

async function ask({ target, memory }: Side, request: Request): Promise<Answer> {
  // After a read of the latest state, the server returns no older state.
  if (request.isCached) await target.request('GET', collectionOf(request.path));
  const answer = await target.request(request.method, request.path, request.options).catch(() => cutOff);
  remember(memory, request.resource, request.path, answer);
  return answer;
}

/** Returns the collection of a path, without its parameters. */
function collectionOf(path: string): string {
  return /^.*?\/namespaces\/[^/]+\/[^/?]+/.exec(path)?.[0] ?? path;
}

const last = 'zz-last';

/** Returns all events of a side's watches, up to an object that is created to end them. */
async function eventsOf(
  { target, watches }: Side,
  world: World,
): Promise<readonly { readonly query: string; readonly events: readonly WatchedEvent[] }[]> {
  const { namespace, candidateVersions } = world;
  const [version] = candidateVersions;
  const strategy = 'example.com/last';
  const metadata = { name: last, labels: { a: '1' } };
  const made = [
    await target.request('POST', `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
      body: { metadata },
    }),
    await target.request(
      'POST',
      `/apis/coordination.k8s.io/${version}/namespaces/${namespace}/leasecandidates`,
      {
        body: {
          metadata,
          spec: {
            leaseName: 'l',
            binaryVersion: '1.0.0',
            ...(version === 'v1alpha1' ? { preferredStrategies: [strategy] } : { strategy }),
          },
        },
      },
    ),
  ];
  if (world.comparesCustom) {
    const custom = { apiVersion: CUSTOM_API_VERSION, kind: 'LeaseCandidate' };
    const body = { ...custom, metadata, spec: { leaseName: 'l1' } };
    made.push(await target.request('POST', ownCandidatesPath(namespace), { body }));
  }
  for (const { code, text } of made) if (code !== 201) throw new Error(`${target.name}: ${text}`);
  const queries = watched(world);
  return Promise.all(
    watches.map(async (watch, index) => {
      const events = await watch.until(({ object }) => object.metadata.name === last);
      const revisions = events.map(({ object }) => BigInt(object.metadata.resourceVersion));
      if (revisions.some((revision, at) => at > 0 && revision <= (revisions[at - 1] ?? 0n))) {
        throw new Error(`${target.name}: events are not in the order of their revisions: ${revisions}`);
      }
      return { query: queries[index] ?? '', events };
    }),
  );
}

function eventPair(
  events: readonly WatchedEvent[],
  others: readonly WatchedEvent[],
  { real, embedded }: { readonly real: Side; readonly embedded: Side },
  minor: number,
) {
  const asAnswer = (all: readonly WatchedEvent[], names: Names): NormalAnswer => ({
    code: 200,
    type: undefined,
    unknownFields: [],
    body: all.map((event) => normalEvent(event, names)),
  });
  const request: Request = { method: 'GET', path: '', options: {}, resource: '', isCached: false };
  return reconciled(
    { real: asAnswer(events, real.names), embedded: asAnswer(others, embedded.names) },
    request,
    minor,
  );
}

function describeRequest({ method, path, options }: Request): string {
  const { body, rawBody, ...rest } = options;
  const sent = body === undefined ? String(rawBody ?? '') : JSON.stringify(body);
  const more = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : '';
  return `${method} ${path} ${sent}${more}`;
}

function report(
  { story, real, embedded }: Difference,
  realTarget: ConformanceTarget,
  embeddedTarget: ConformanceTarget,
): string {
  return [
    `${realTarget.name} and ${embeddedTarget.name} differ after`,
    ...story.map((line, index) => `  ${index + 1}. ${line}`),
    `${realTarget.name}: ${JSON.stringify(real)}`,
    `${embeddedTarget.name}: ${JSON.stringify(embedded)}`,
    ...differingPaths(real, embedded, '').map((line) => `  ${line}`),
  ].join('\n');
}

/** Returns where two values differ, and how. */
export function differingPaths(real: unknown, embedded: unknown, path: string): readonly string[] {
  if (isDeepStrictEqual(real, embedded)) return [];
  if (typeof real === 'object' && real !== null && typeof embedded === 'object' && embedded !== null) {
    const [a, b] = [real as Record<string, unknown>, embedded as Record<string, unknown>];
    const fields = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...fields].flatMap((field) => differingPaths(a[field], b[field], `${path}.${field}`));
  }
  return [`${path}: ${shown(real)}  |  ${shown(embedded)}`];
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
