import type { Answer, Body } from '../target.ts';

/** Where a sequence of steps takes place: the same names on both servers. */
export interface World {
  readonly namespace: string;
  readonly candidateVersions: readonly [string, ...string[]];
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
  if (answer.code >= 300 || !answer.text.startsWith('{')) return;
  const body = answer.json;
  if (body['kind'] === 'Lease' || body['kind'] === 'LeaseCandidate') {
    // A dry run that creates shows an object without a revision: there is nothing to refer to.
    if (body.metadata.resourceVersion === undefined) return;
    const key = `${resource}/${body.metadata.name}`;
    memory.objects.set(key, [...(memory.objects.get(key) ?? []), body]);
    return;
  }
  const { continue: token, resourceVersion } = body.metadata ?? {};
  if (token !== undefined) memory.pages.push({ path, token, revision: String(resourceVersion) });
}
