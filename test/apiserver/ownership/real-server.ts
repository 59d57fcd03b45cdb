import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { isJsonObject, type JsonObject } from '../../../src/support/json.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { atVersionOf, objectOf, type Step, type Story } from './stories.ts';
import { type Outcome, transcriptOf } from './transcript.ts';

/** The answer of a server. */
export interface Answer {
  readonly code: number;
  readonly body: JsonObject;
}

/** One request of a test. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly contentType?: string;
  readonly body?: unknown;
}

/** Sends a request to a control plane as its administrator. */
export type Send = (call: Call) => Promise<Answer>;

export const contentTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** A client of a real control plane. */
export async function connect({ url, caFile, adminToken }: ControlPlane): Promise<Send> {
  const ca = await readFile(caFile, 'utf8');
  return ({ method, path, contentType = 'application/json', body }) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${adminToken}`, 'content-type': contentType };
      const outgoing = request(new URL(path, url), { method, ca, headers, timeout: 20_000 });
      outgoing.once('timeout', () => outgoing.destroy(new Error(`${method} ${path}: no answer`)));
      outgoing.once('error', reject);
      outgoing.once('response', (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.once('error', reject);
        incoming.once('end', () => {
          const answer: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
          resolve({ code: incoming.statusCode ?? 0, body: isJsonObject(answer) ? answer : {} });
        });
      });
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

/**
 * Plays stories on a real server, all at the same time and step by step. At least a second passes between two steps,
 * because the server's times have that resolution.
 */
export async function tellStories(send: Send, stories: readonly Story[]): Promise<readonly string[]> {
  const namespaces = stories.map(({ namespace }, index) => namespace ?? `story-${index}`);
  await Promise.all(
    namespaces.filter((each) => each !== 'default').map((each) => createNamespace(send, each)),
  );
  const outcomes = stories.map((): Outcome[] => []);
  const begins: number[] = [];
  for (let round = 0; round < Math.max(...stories.map(({ steps }) => steps.length)); round += 1) {
    await sleep(1_100);
    begins.push(Math.floor(Date.now() / 1000) * 1000);
    await Promise.all(
      stories.map(async (story, index) => {
        const step = story.steps[round];
        if (step === undefined) return;
        outcomes[index]?.push(await play(send, story, step, namespaces[index] ?? ''));
      }),
    );
  }
  const stepOf = (time: string) => {
    const round = begins.findLastIndex((begin) => begin <= Date.parse(time));
    return round < 0 ? time : `at step ${round + 1}`;
  };
  return stories.map((story, index) => transcriptOf(story, outcomes[index] ?? [], stepOf));
}

async function createNamespace(send: Send, name: string): Promise<void> {
  const { code } = await send({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
  if (code !== 201) throw new Error(`namespace ${name}: ${code}`);
}

async function play(send: Send, { kind }: Story, step: Step, namespace: string): Promise<Outcome> {
  const { verb, manager, apiVersion, body, force } = step;
  const root = apiVersion.includes('/') ? '/apis' : '/api';
  const collection = `${root}/${apiVersion}/namespaces/${namespace}/${kind.toLowerCase()}s`;
  const query = `?fieldManager=${encodeURIComponent(manager)}${force ? '&force=true' : ''}`;
  const named = `${collection}/x${query}`;
  const whole = () => objectOf(body, { apiVersion, kind });
  const answer = await (async () => {
    switch (verb) {
      case 'create':
        return send({ method: 'POST', path: `${collection}${query}`, body: whole() });
      case 'replace': {
        const live = await send({ method: 'GET', path: named });
        return send({ method: 'PUT', path: named, body: atVersionOf(live.body, whole()) });
      }
      case 'apply':
        return send({ method: 'PATCH', path: named, contentType: contentTypes.apply, body: whole() });
      default:
        return send({ method: 'PATCH', path: named, contentType: contentTypes[verb], body });
    }
  })();
  if (answer.code >= 300) return { kind: 'refused', status: answer.body };
  return { kind: 'stored', object: answer.body };
}
