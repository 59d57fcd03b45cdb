import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { candidatesPath } from './cluster-objects.ts';
import type { CoordinationServer } from './coordination-plane.ts';

interface CustomResource {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The path of LeaseCandidates in this project's own group. */
export function ownCandidatesPath(namespace: string): string {
  return candidatesPath({ apiVersion: CUSTOM_API_VERSION, namespace });
}

/** Installs deploy/crd.yaml, and waits until the API server serves it. */
export async function installCandidateResource(plane: CoordinationServer): Promise<void> {
  const text = await readFile(new URL('../../deploy/crd.yaml', import.meta.url), 'utf8');
  const definition = parse(text) as CustomResource;
  await plane.request('POST', definitions, definition);
  for (;;) {
    const { status } = await plane.request<CustomResource>(
      'GET',
      `${definitions}/${definition.metadata.name}`,
    );
    if (status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True')) break;
    await sleep(50);
  }
  // The condition Established is true shortly before the routes exist.
  for (let attempt = 1; ; attempt += 1) {
    try {
      await plane.request('GET', ownCandidatesPath('default'));
      return;
    } catch (error) {
      if (attempt === 200) throw error;
      await sleep(50);
    }
  }
}
