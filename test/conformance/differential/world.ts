import type { Answer, Body } from '../target.ts';

/** The scene of a sequence of steps: the same names on both servers. */
export interface World {
  readonly namespace: string;
  readonly candidateVersions: readonly [string, ...string[]];
  /** Whether LeaseCandidates of this project's group are served. If not, those of the first version replace them. */
  readonly comparesCustom: boolean;
}

/** The answers of one server so far, to which later requests refer. */
export interface Memory {
  /** Every seen state of each object, by resource and name. */
  readonly objects: Map<string, Body[]>;
  /** Pages that can be continued, latest last. */
  readonly pages: Page[];
  /** The revision of the collection at the start. */
  readonly start: string;
}

export interface Page {
  readonly path: string;
  readonly token: string;
  readonly revision: string;
}

export function newMemory(start: string): Memory {
  return { objects: new Map(), pages: [], start };
}

/** Remembers a server's answer to a request for a resource. */
export function remember(memory: Memory, resource: string, path: string, answer: Answer): void {
  // The result of a dry run does not exist.
  if (answer.code < 200 || answer.code >= 300 || !answer.text.startsWith('{') || path.includes('dryRun='))
    return;
  const body = answer.json;
  if (body['kind'] === 'Lease' || body['kind'] === 'LeaseCandidate') {
    const key = `${resource}/${body.metadata.name}`;
    memory.objects.set(key, [...(memory.objects.get(key) ?? []), body]);
    return;
  }
  const { continue: token, resourceVersion } = body.metadata ?? {};
  if (token !== undefined) memory.pages.push({ path, token, revision: String(resourceVersion) });
}
