import type { Answer, Body } from '../target.ts';

/** Where a sequence of steps takes place: the same names on both servers. */
export interface World {
  readonly namespace: string;
  readonly candidateVersions: readonly [string, ...string[]];
  /** Whether LeaseCandidates of this project's group take part; where they do not, those of the first version stand in. */
  readonly comparesCustom: boolean;
}

/** What one server has answered so far, for later requests to refer to. */
export interface Memory {
  /** Every state of each object that was seen, by resource and name. */
  readonly objects: Map<string, Body[]>;
  /** Pages that can be continued, the latest last. */
  readonly pages: Page[];
  /** The revision of the collection when the world was made. */
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

/** Remembers what a server answered to a request for a resource. */
export function remember(memory: Memory, resource: string, path: string, answer: Answer): void {
  // What a dry run shows has never been.
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
