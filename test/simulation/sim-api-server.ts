import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { GROUP } from '../../src/election/model.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { isKubernetesObject, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Clock, Instant } from '../../src/support/clock.ts';
import { isJsonObject, type JsonObject } from '../../src/support/json.ts';
import type { SimCapacity } from './sim-capacity.ts';
import { applyMergePatch, keyOf, refusal, type SimChange, type SimResource, SimStore } from './sim-store.ts';

/** A request that reached the server, and has changed something or tried to. */
export interface SimWrite {
  readonly at: Instant;
  readonly writer: string;
  readonly method: ApiRequest['method'];
  readonly resource: SimResource;
  readonly key: string;
  readonly body: JsonObject;
  readonly status: number;
  /** The object before and after the write. */
  readonly before: KubernetesObject | undefined;
  readonly after: KubernetesObject | undefined;
  /** The sender had given up the request before it arrived. */
  readonly isLate: boolean;
}

interface Target {
  readonly version: string;
  readonly resource: SimResource;
  readonly namespace: string;
  readonly name: string;
}

const PATH =
  /^\/apis\/(coordination\.k8s\.io|coordinated-leader-election\.dev)\/(v\w+)(?:\/namespaces\/([^/]+))?\/(leases|leasecandidates)(?:\/([^/]+))?$/;
/** Clients only list and watch Pods and Namespaces. */
const CORE = /^\/api\/v1(?:\/namespaces\/([^/]+))?\/(pods|namespaces)$/;
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/**
 * The coordination API of an API server, in memory: optimistic concurrency, merge patches, field ownership of
 * preferredHolder, the validation that tests need, and watches with history. It answers at once, unless it has a
 * capacity. A SimConnection adds latency and losses.
 */
export class SimApiServer {
  readonly store: SimStore;
  /** Every write that the server has accepted or refused; empty if only `onWrite` is used. */
  readonly writes: SimWrite[] = [];
  /** Every request except watches, as `<writer> <method> <path>`. */
  readonly requests: string[] = [];
  candidateVersions: readonly string[] = ['v1beta1'];
  /** Whether it serves this project's custom resource. */
  hasCustomCandidates = false;
  /** If off, it drops strategy and preferredHolder from Leases that do not have them yet. */
  isGateOn = true;
  /** How many requests it carries out a second; undefined: any number. Watches take nothing of it. */
  capacity: SimCapacity | undefined;
  /** Called for each successful write. */
  onWrite: (write: SimWrite) => void = () => {};
  /** Refuses every connection. */
  isDown = false;
  /** The error status of all answers. With 504, the server still applies a write. */
  fault: ((isWrite: boolean) => number | undefined) | undefined;
  readonly #clock: Clock;
  readonly #keepsRecord: boolean;
  readonly #watchers: Record<SimResource, Set<(change: SimChange) => void>> = {
    leases: new Set(),
    leasecandidates: new Set(),
    customcandidates: new Set(),
    pods: new Set(),
    namespaces: new Set(),
  };
  /** Changes that its watch cache has not shown yet; undefined if it is up to date. */
  #unseen: SimChange[] | undefined;
  #cachedUpTo: number;
  /** A watch from an earlier revision cannot resume. */
  #cachedFrom = 0;

  /**
   * @param store shared by servers of one cluster
   * @param keepsRecord whether to keep every request and write, for tests that read them
   */
  constructor(clock: Clock, store = new SimStore(clock), keepsRecord = true) {
    this.#clock = clock;
    this.store = store;
    this.#keepsRecord = keepsRecord;
    this.#cachedUpTo = store.revision;
    store.watch(store.revision, (change) => {
      if (this.#unseen) this.#unseen.push(change);
      else this.#show(change);
    });
  }

  /** While true, its watches show no changes. Reads and writes do not use the watch cache. */
  get isStale(): boolean {
    return this.#unseen !== undefined;
  }

  set isStale(isStale: boolean) {
    if (isStale === this.isStale) return;
    const unseen = this.#unseen ?? [];
    this.#unseen = isStale ? [] : undefined;
    for (const change of unseen) this.#show(change);
  }

  /** The revision that its watches have reached. */
  get cachedUpTo(): number {
    return this.#cachedUpTo;
  }

  /** Starts with an empty watch cache: a watch cannot resume from before now. */
  forgetHistory(): void {
    this.#unseen = undefined;
    this.#cachedUpTo = this.store.revision;
    this.#cachedFrom = this.store.revision;
  }

  /** Executes a request that has arrived: at once, or when the capacity allows it. */
  serve(work: () => void): void {
    if (this.capacity) this.capacity.serve(work);
    else work();
  }

  /** Throws the error of the response. */
  handle(writer: string, request: ApiRequest, isLate = false): JsonObject {
    const { method, path } = request;
    if (this.#keepsRecord) this.requests.push(`${writer} ${method} ${path}`);
    if (path === '/apis/coordination.k8s.io') return this.#group();
    if (path === `/apis/${CUSTOM_API_VERSION}`) return this.#customResources();
    const version = /^\/apis\/coordination\.k8s\.io\/(v\w+)$/.exec(path)?.[1];
    if (version !== undefined) return this.#resources(version);
    const target = this.#target(path);
    if (method === 'GET') return target.name === '' ? this.#list(target, request) : this.#existing(target);
    return this.#write(writer, method, target, request, isLate);
  }

  /** Begins a watch. Throws if it is refused; 410 comes as an ERROR event. */
  watch(request: ApiRequest, listener: (change: SimChange) => void): () => void {
    const target = this.#target(request.path);
    const isMatch = filterOf(target, request);
    const from = Number(request.query?.['resourceVersion']);
    if (from < this.#cachedFrom) throw refusal(410, 'Expired', `revision ${from} is too old`);
    const watcher = (change: SimChange) => {
      if (change.revision > from && isMatch(change.object)) listener(change);
    };
    for (const change of this.store.since(from))
      if (change.resource === target.resource && change.revision <= this.#cachedUpTo) watcher(change);
    const watchers = this.#watchers[target.resource];
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }

  #show(change: SimChange): void {
    this.#cachedUpTo = change.revision;
    for (const watcher of this.#watchers[change.resource]) watcher(change);
  }

  lease(key: string): KubernetesObject | undefined {
    return this.store.get('leases', key);
  }

  candidate(key: string): KubernetesObject | undefined {
    return this.store.candidate(key);
  }

  /** A field of a Lease's spec. */
  leaseSpec(key: string): JsonObject {
    return specOf(this.lease(key));
  }

  #group(): JsonObject {
    const versions = ['v1', ...this.candidateVersions].map((version) => ({ version }));
    return { kind: 'APIGroup', versions };
  }

  #resources(version: string): JsonObject {
    const isServed = this.candidateVersions.includes(version);
    if (!isServed && version !== 'v1') throw refusal(404, '', '404 page not found');
    return {
      kind: 'APIResourceList',
      resources: [{ name: version === 'v1' ? 'leases' : 'leasecandidates' }],
    };
  }

  #customResources(): JsonObject {
    if (!this.hasCustomCandidates) throw refusal(404, '', '404 page not found');
    return { kind: 'APIResourceList', resources: [{ name: 'leasecandidates' }] };
  }

  #target(path: string): Target {
    const target = targetOf(path);
    if (!target || !this.#serves(target)) throw refusal(404, '', `404 page not found: ${path}`);
    return target;
  }

  #serves({ resource, version }: Target): boolean {
    switch (resource) {
      case 'pods':
      case 'namespaces':
        return true;
      case 'leases':
        return version === 'v1';
      case 'leasecandidates':
        return this.candidateVersions.includes(version);
      case 'customcandidates':
        return this.hasCustomCandidates && version === 'v1alpha1';
    }
  }

  #list(target: Target, request: ApiRequest): JsonObject {
    const items = this.store.list(target.resource).filter(filterOf(target, request));
    return { kind: 'List', metadata: { resourceVersion: `${this.store.revision}` }, items };
  }

  #existing({ resource, namespace, name }: Target): KubernetesObject {
    const object = this.store.get(resource, `${namespace}/${name}`);
    if (!object) throw refusal(404, 'NotFound', `${resource} "${name}" not found`);
    return object;
  }

  #write(
    writer: string,
    method: ApiRequest['method'],
    target: Target,
    request: ApiRequest,
    isLate: boolean,
  ): JsonObject {
    const body = isJsonObject(request.body) ? request.body : {};
    const meta = isJsonObject(body['metadata']) ? body['metadata'] : {};
    const { resource, namespace } = target;
    const key = `${namespace}/${target.name === '' ? String(meta['name']) : target.name}`;
    const before = this.store.get(resource, key);
    const note = (status: number) => {
      const after = this.store.get(resource, key);
      const at = this.#clock.now();
      const write = { at, writer, method, resource, key, body, status, before, after, isLate };
      if (this.#keepsRecord) this.writes.push(write);
      return write;
    };
    try {
      const answer = this.#change(method, target, request, body);
      this.onWrite(note(method === 'POST' ? 201 : 200));
      return answer;
    } catch (error) {
      note(typeof error === 'object' && error !== null && 'status' in error ? Number(error.status) : 0);
      throw error;
    }
  }

  #change(method: ApiRequest['method'], target: Target, request: ApiRequest, body: JsonObject): JsonObject {
    const { resource, namespace } = target;
    const manager = String(request.query?.['fieldManager'] ?? 'unknown');
    if (method === 'POST') {
      if (!isKubernetesObject(body)) throw refusal(400, 'BadRequest', 'no object');
      const object = { ...body, metadata: { ...body.metadata, namespace } };
      if (this.store.get(resource, keyOf(object))) throw refusal(409, 'AlreadyExists', 'already exists');
      return this.store.create(resource, this.#admitted(resource, undefined, object, manager));
    }
    const object = this.#existing(target);
    if (method === 'DELETE') {
      assertSame(object, isJsonObject(body['preconditions']) ? body['preconditions'] : {});
      this.store.remove(resource, object);
      return { kind: 'Status', status: 'Success' };
    }
    if (method === 'PATCH' && request.contentType !== 'application/merge-patch+json')
      throw refusal(415, 'UnsupportedMediaType', String(request.contentType));
    const next = method === 'PATCH' ? applyMergePatch(object, body) : body;
    if (!isKubernetesObject(next)) throw refusal(400, 'BadRequest', 'no object');
    const asked = method === 'PATCH' ? body['metadata'] : next.metadata;
    if (method === 'PUT' && next.metadata.resourceVersion === undefined)
      throw refusal(422, 'Invalid', 'metadata.resourceVersion must be specified for an update');
    assertSame(object, isJsonObject(asked) ? asked : {});
    return this.store.update(resource, object, this.#admitted(resource, object, next, manager));
  }

  /** Returns the stored object for a sent one. */
  #admitted(
    resource: SimResource,
    before: KubernetesObject | undefined,
    next: KubernetesObject,
    manager: string,
  ): KubernetesObject {
    const { managedFields: _, ...metadata } = { ...next.metadata, ...identityOf(before) };
    const apiVersion = resource === 'customcandidates' ? CUSTOM_API_VERSION : next.apiVersion;
    const object: KubernetesObject = { ...next, ...defined({ apiVersion }), metadata };
    if (resource !== 'leases') {
      assertTimes(specOf(object), 'renewTime', 'pingTime');
      return object;
    }
    const { strategy, preferredHolder, ...rest } = specOf(object);
    const isKeptOf = (field: string) => this.isGateOn || specOf(before)[field] !== undefined;
    const spec = {
      ...rest,
      ...(isKeptOf('strategy') && defined({ strategy })),
      ...(isKeptOf('preferredHolder') && defined({ preferredHolder })),
    };
    assertLease(object, spec);
    return withOwners(before, { ...object, spec }, manager);
  }
}

/** Cached: most requests repeat a path. */
const targets = new Map<string, Target>();

function targetOf(path: string): Target | undefined {
  const known = targets.get(path);
  if (known) return known;
  const [, coreNamespace = '', core] = CORE.exec(path) ?? [];
  if (core !== undefined)
    return { version: 'v1', resource: core as SimResource, namespace: coreNamespace, name: '' };
  const [, group, version = '', namespace = '', plural, name = ''] = PATH.exec(path) ?? [];
  if (plural === undefined) return undefined;
  const resource = group === GROUP ? 'customcandidates' : (plural as SimResource);
  const target = { version, resource, namespace, name: decodeURIComponent(name) };
  targets.set(path, target);
  return target;
}

function filterOf({ namespace }: Target, { query }: ApiRequest): (object: KubernetesObject) => boolean {
  const name = /^metadata\.name=(.+)$/.exec(String(query?.['fieldSelector'] ?? ''))?.[1];
  return ({ metadata }) =>
    (namespace === '' || metadata.namespace === namespace) && (name === undefined || metadata.name === name);
}

function assertSame(object: KubernetesObject, wanted: JsonObject): void {
  for (const field of ['uid', 'resourceVersion']) {
    const value = wanted[field];
    if (value !== undefined && value !== object.metadata[field]) {
      throw refusal(409, 'Conflict', `${field} is ${String(object.metadata[field])}, not ${String(value)}`);
    }
  }
}

function assertLease({ metadata }: KubernetesObject, spec: JsonObject): void {
  const { leaseDurationSeconds, preferredHolder, strategy } = spec;
  if (leaseDurationSeconds !== undefined && !(Number(leaseDurationSeconds) > 0))
    throw refusal(422, 'Invalid', 'leaseDurationSeconds must be greater than 0');
  if (preferredHolder !== undefined && strategy === undefined)
    throw refusal(422, 'Invalid', 'preferredHolder only with strategy');
  // The simulated built-in controller writes an invalid time into its own lock.
  if (metadata.name !== 'leader-election-controller') assertTimes(spec, 'renewTime', 'acquireTime');
}

function assertTimes(spec: JsonObject, ...fields: readonly string[]): void {
  for (const field of fields) {
    if (spec[field] !== undefined && !MICRO_TIME.test(String(spec[field])))
      throw refusal(400, 'BadRequest', `${field} is no MicroTime: ${String(spec[field])}`);
  }
}

const OWNED = ['preferredHolder', 'holderIdentity', 'renewTime', 'acquireTime', 'leaseDurationSeconds'];

/** Returns `lease` with field ownership. As on a real server, each field belongs to the last client that changed it. */
export function withOwners(
  before: KubernetesObject | undefined,
  lease: KubernetesObject,
  manager: string,
): KubernetesObject {
  const spec = specOf(lease);
  const known = before?.metadata['managedFields'];
  const formerEntries: unknown[] = Array.isArray(known) ? known : [];
  const byManager = new Map<string, JsonObject>();
  for (const field of OWNED) {
    if (spec[field] === undefined) continue;
    const isSame = specOf(before)[field] === spec[field];
    const former = formerEntries.find((entry) => JSON.stringify(entry).includes(`"f:${field}"`));
    const owner = isSame ? isJsonObject(former) && former['manager'] : manager;
    if (typeof owner === 'string') byManager.set(owner, { ...byManager.get(owner), [`f:${field}`]: {} });
  }
  const managedFields = [...byManager].map(([owner, fields]) => ({
    manager: owner,
    operation: 'Update',
    fieldsV1: { 'f:spec': fields },
  }));
  return { ...lease, metadata: { ...lease.metadata, managedFields } };
}

/** The fields that a write cannot change. */
function identityOf(object: KubernetesObject | undefined): JsonObject {
  if (!object) return {};
  const { uid, creationTimestamp } = object.metadata;
  return { uid, creationTimestamp };
}

function defined(fields: JsonObject): JsonObject {
  const result: Record<string, unknown> = {};
  for (const name in fields) if (fields[name] !== undefined) result[name] = fields[name];
  return result;
}

export function specOf(object: KubernetesObject | undefined): JsonObject {
  const spec = object?.['spec'];
  return isJsonObject(spec) ? spec : {};
}
