import { GROUP } from '../../../src/election/model.ts';
import type { RequestOptions } from '../target.ts';
import { mediaTypes } from '../workspace.ts';
import { type Fields, type Revision, type Step, validCandidate } from './steps.ts';
import type { Memory, World } from './world.ts';

/** The request of a step to one server. */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly options: RequestOptions;
  /** `leases.coordination.k8s.io`: the same in all versions. */
  readonly resource: string;
  /** The revision of the list that this continues or asks for, if any. */
  readonly listRevision?: string;
  /** Whether a server may answer with a slightly old state from memory. */
  readonly isCached: boolean;
}

interface Type {
  readonly resource: string;
  readonly kind: string;
  readonly group: string;
  readonly version: string;
}

/** Returns the request of a step to the server of `memory`. */
export function requestFor(step: Step, world: World, memory: Memory): Request {
  const type = typeOf(step.resource, world);
  const collection = `/apis/${type.group}/${type.version}/namespaces/${world.namespace}/${type.resource}`;
  const page =
    step.kind === 'list' && step.page !== undefined ? pageOf(step.page, collection, memory) : undefined;
  const { revision } = step.kind === 'list' ? step : { revision: 'none' as const };
  const asked = step.kind === 'list' ? namedRevision(revision, undefined, type, memory) : undefined;
  const query = {
    ...step.query,
    ...(step.kind === 'apply' && step.manager !== '' && { fieldManager: step.manager }),
    ...(asked !== undefined && { resourceVersion: asked }),
    ...(page && { continue: page.token }),
  };
  const listRevision = page?.revision ?? (asked === '0' ? undefined : asked);
  return {
    resource: collectionName(type),
    method: methodOf(step),
    path: `${'name' in step && !isOnCollection(step) ? `${collection}/${step.name}` : collection}${queryText(query)}`,
    options: {
      ...bodyOf(step, type, memory),
      ...(step.accept !== undefined && { accept: step.accept }),
      ...(step.userAgent !== undefined && { userAgent: step.userAgent }),
    },
    ...(listRevision !== undefined && { listRevision }),
    isCached: asked !== undefined || 'resourceVersion' in query,
  };
}

function typeOf(resource: Step['resource'], { candidateVersions, comparesCustom }: World): Type {
  const group = 'coordination.k8s.io';
  const candidates = { resource: 'leasecandidates', kind: 'LeaseCandidate' };
  if (resource === 'custom' && comparesCustom) return { ...candidates, group: GROUP, version: 'v1alpha1' };
  if (resource === 'leases') return { resource: 'leases', kind: 'Lease', group, version: 'v1' };
  const index = resource === 'custom' ? 0 : resource % candidateVersions.length;
  const version = candidateVersions[index] ?? candidateVersions[0];
  return { ...candidates, group, version };
}

function methodOf(step: Step): string {
  switch (step.kind) {
    case 'create':
      return 'POST';
    case 'replace':
      return 'PUT';
    case 'merge patch':
    case 'strategic patch':
    case 'JSON patch':
    case 'apply':
      return 'PATCH';
    case 'delete':
    case 'delete all':
      return 'DELETE';
    case 'get':
    case 'list':
      return 'GET';
    case 'raw':
      return step.method;
  }
}

function isOnCollection(step: Step): boolean {
  return step.kind === 'create' || (step.kind === 'raw' && step.method === 'POST');
}

function bodyOf(step: Step, type: Type, memory: Memory): RequestOptions {
  switch (step.kind) {
    case 'create':
    case 'replace':
      return { body: writtenObject(step, type, memory) };
    case 'merge patch':
    case 'strategic patch': {
      const metadata = { ...asFields(step.patch['metadata']), ...revisionField(step, type, memory) };
      const hasMetadata = Object.keys(metadata).length > 0;
      return {
        body: {
          ...step.patch,
          ...(hasMetadata && { metadata }),
          ...(step.patch['spec'] !== undefined && { spec: fitting(step.patch['spec'], type) }),
        },
        contentType: step.kind === 'merge patch' ? mediaTypes.mergePatch : mediaTypes.strategicPatch,
      };
    }
    case 'JSON patch':
      return { body: step.operations, contentType: mediaTypes.jsonPatch };
    case 'apply':
      return {
        body: {
          ...envelopeOf(step.envelope, type),
          metadata: { name: step.name, ...revisionField(step, type, memory), ...defined(step.metadata) },
          ...(step.spec !== undefined && { spec: specOf(step.spec, type) }),
        },
        contentType: mediaTypes.apply,
      };
    case 'delete': {
      const preconditions = { ...uidField(step, type, memory), ...revisionField(step, type, memory) };
      const hasPreconditions = Object.keys(preconditions).length > 0;
      if (step.options === undefined && !hasPreconditions) return {};
      return { body: { ...step.options, ...(hasPreconditions && { preconditions }) } };
    }
    case 'delete all':
      return step.options === undefined ? {} : { body: step.options };
    case 'raw':
      // Text after a YAML document is one of the known differences.
      return {
        rawBody: step.contentType.endsWith('yaml') ? step.body.replace(/ x$/, '') : step.body,
        contentType: step.contentType,
      };
    case 'get':
    case 'list':
      return {};
  }
}

function writtenObject(
  step: Extract<Step, { readonly kind: 'create' | 'replace' }>,
  type: Type,
  memory: Memory,
): Fields {
  const base = step.isBased ? seen(step.name, type, memory).at(-1) : undefined;
  const spec = step.spec === undefined ? base?.spec : specOf(step.spec, type, base?.spec);
  const given = defined(step.metadata);
  // Generated names have a random order, and so have the items of lists.
  const isNameless = given['name'] === '' || given['name'] === null;
  return {
    ...envelopeOf(step.envelope, type),
    metadata: {
      ...base?.metadata,
      resourceVersion: undefined,
      uid: undefined,
      name: step.name,
      ...uidField(step, type, memory),
      ...revisionField(step, type, memory),
      ...given,
      ...(isNameless && given['generateName'] === 'gen-' && { generateName: undefined }),
    },
    ...(spec !== undefined && { spec }),
    ...step.more,
  };
}

function envelopeOf(
  envelope: 'full' | 'bare' | 'wrong kind' | 'wrong version',
  { kind, group, version }: Type,
): Fields {
  const apiVersion = `${group}/${version}`;
  switch (envelope) {
    case 'full':
      return { apiVersion, kind };
    case 'bare':
      return {};
    case 'wrong kind':
      return { apiVersion, kind: 'Other' };
    case 'wrong version':
      return { apiVersion: `${group}/v9`, kind };
  }
}

/** A complete spec: a candidate gets the required fields, unless the step says otherwise. */
function specOf(spec: Fields, type: Type, base: Fields | undefined = undefined): Fields {
  if (type.kind === 'Lease') return { ...base, ...spec };
  const strategy = hasStrategyList(type)
    ? { preferredStrategies: ['OldestEmulationVersion'] }
    : { strategy: 'OldestEmulationVersion' };
  return fitting({ ...validCandidate, ...strategy, ...base, ...spec }, type) as Fields;
}

/** Without the fields of other versions: a step adds unknown fields separately. */
function fitting(spec: unknown, type: Type): unknown {
  if (type.kind === 'Lease' || typeof spec !== 'object' || spec === null) return spec;
  const { strategy, preferredStrategies, priority, ...others } = spec as Fields;
  const rest = type.group === GROUP && priority !== undefined ? { ...others, priority } : others;
  return hasStrategyList(type)
    ? { ...rest, ...(preferredStrategies !== undefined && { preferredStrategies }) }
    : { ...rest, ...(strategy !== undefined && { strategy }) };
}

function collectionName({ resource, group }: Type): string {
  return `${resource}.${group}`;
}

function hasStrategyList({ group, version }: Type): boolean {
  return group !== GROUP && version === 'v1alpha1';
}

function seen(name: string, type: Type, memory: Memory) {
  return memory.objects.get(`${collectionName(type)}/${name}`) ?? [];
}

function uidField(
  { uid, name }: { readonly uid: 'none' | 'own' | 'other'; readonly name: string },
  type: Type,
  memory: Memory,
): Fields {
  if (uid === 'none') return {};
  return { uid: uid === 'other' ? 'other' : (seen(name, type, memory).at(-1)?.metadata.uid ?? 'other') };
}

function revisionField(
  { revision, name }: { readonly revision: Revision; readonly name: string },
  type: Type,
  memory: Memory,
): Fields {
  const resourceVersion = namedRevision(revision, name, type, memory);
  return resourceVersion === undefined ? {} : { resourceVersion };
}

/** `name` undefined: the last or first seen object of the resource. */
function namedRevision(
  revision: Revision,
  name: string | undefined,
  type: Type,
  memory: Memory,
): string | undefined {
  switch (revision) {
    case 'none':
      return undefined;
    case 'zero':
      return '0';
    case 'other':
      return 'x';
    default: {
      const states =
        name === undefined
          ? [...memory.objects].flatMap(([key, all]) =>
              key.startsWith(`${collectionName(type)}/`) ? all : [],
            )
          : seen(name, type, memory);
      const revisions = states.map(({ metadata }) => BigInt(metadata.resourceVersion));
      if (revisions.length === 0) return name === undefined ? memory.start : undefined;
      revisions.sort((a, b) => Number(a - b));
      return String(revision === 'current' ? revisions.at(-1) : revisions[0]);
    }
  }
}

function pageOf(ago: number, collection: string, memory: Memory) {
  const pages = memory.pages.filter(({ path }) => path.split('?')[0] === collection);
  return pages.at(-1 - (ago % Math.max(1, pages.length)));
}

function queryText(query: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? defined(value as Fields) : {};
}

function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
