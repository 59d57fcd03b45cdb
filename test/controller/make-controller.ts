import { type ControllerEvent, isApplied } from '../../src/controller/controller-event.ts';
import {
  ElectionController,
  type ElectionControllerParts,
} from '../../src/controller/election-controller.ts';
import { CUSTOM_API_VERSION, type LeaseCandidateVersion } from '../../src/coordination/candidate-sources.ts';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { resourcePaths } from '../../src/coordination/resource-paths.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { isJsonObject, type JsonObject } from '../../src/support/json.ts';
import { SimApiServer, type SimWrite, specOf, withOwners } from '../simulation/sim-api-server.ts';
import { SimConnection, type SimFate } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import type { SimResource } from '../simulation/sim-store.ts';
import { defaultSettings } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { makeLeaseObject } from './make-objects.ts';

const OURS = 'us';
const DISCOVERY = / GET \/apis\/[^/]+(\/v\w+)?$/;

/** A controller on a simulated server, with a record of its actions. The test plays all other clients. */
export class ControllerWorld {
  readonly clock = new VirtualClock();
  readonly api = new SimApiServer(this.clock);
  readonly connection: SimConnection;
  readonly controller: ElectionController;
  /** Like `default/scheduler LeaseMissing`, one for each decision. */
  readonly decisions: string[] = [];
  /** `forgotten default/scheduler`, `notServed`, `synced v1beta1` and so on. */
  readonly told: string[] = [];
  /** Writes whose decision may be logged. */
  readonly applied: string[] = [];
  readonly heldBack: string[] = [];
  /** Number of due Leases that it has handled, with or without a decision. */
  looks = 0;
  mayWrite = true;
  /** How often it asked whether it may write. */
  onMayWrite: () => void = () => {};
  /** The fate of our requests. */
  fate: (request: ApiRequest) => SimFate = () => ({});
  watchDelayMs = 0;

  constructor(parts: Partial<ElectionControllerParts> = {}) {
    this.connection = new SimConnection(this.api, new SimProcess(this.clock), OURS, {
      fate: (request) => this.fate(request),
      watchDelayMs: () => this.watchDelayMs,
    });
    this.controller = new ElectionController({
      client: this.connection,
      clock: this.clock,
      settings: defaultSettings,
      namespaces: [],
      workers: 2,
      isDryRun: false,
      mayWrite: () => {
        this.onMayWrite();
        return this.mayWrite;
      },
      observe: (event) => this.#observe(event),
      ...parts,
    });
  }

  #observe(event: ControllerEvent): void {
    switch (event.type) {
      case 'processed':
        this.looks++;
        break;
      case 'decided':
        this.decisions.push(`${event.key} ${event.decision.reason}`);
        break;
      case 'heldBack':
        this.heldBack.push(event.key);
        break;
      case 'written':
        if (isApplied(event)) this.applied.push(`${event.key} ${event.decision.reason}`);
        break;
      case 'forgotten':
        this.told.push(`forgotten ${event.key}`);
        break;
      case 'synced':
      case 'gone':
        this.told.push(`${event.type} ${event.apiVersion}`);
        break;
      case 'twinSeen':
        this.told.push(`twins ${event.key} ${event.name}`);
        break;
      case 'priorityUnreadable':
        this.told.push(`unreadable ${event.key} ${event.name} ${event.annotation}`);
        break;
      case 'notServed':
      case 'discoveryFailed':
        this.told.push(event.type);
        break;
      case 'decisionFailed':
        this.told.push(`decisionFailed ${event.key} ${String(event.error)}`);
        break;
      default:
    }
  }

  async start(): Promise<this> {
    this.controller.start();
    await this.clock.advance(0);
    return this;
  }

  /** Acquires the lock from another coordinator, and may write. */
  takeLock(): void {
    const lock = makeLeaseObject('ours', this.clock.now());
    this.create('leases', {
      ...lock,
      metadata: { namespace: 'kube-system', name: 'leader-election-controller' },
    });
    this.mayWrite = true;
    this.controller.takeOver({
      key: 'kube-system/leader-election-controller',
      holder: 'ours',
      renewTime: this.clock.wallTime(),
    });
  }

  /** Our writes that reached the server. */
  get ourWrites(): readonly SimWrite[] {
    return this.api.writes.filter(({ writer }) => writer === OURS);
  }

  /** Our writes as `PATCH leases default/scheduler 200`. */
  get ourWriteLines(): readonly string[] {
    return this.ourWrites.map(
      ({ method, resource, key, status }) => `${method} ${resource} ${key} ${status}`,
    );
  }

  /** Our requests of any kind, except watches and discovery. */
  get ourRequests(): readonly string[] {
    return this.api.requests.filter((request) => request.startsWith(`${OURS} `) && !DISCOVERY.test(request));
  }

  /** Another client creates an object. */
  create(resource: SimResource, object: KubernetesObject): KubernetesObject {
    const { namespace = '' } = object.metadata;
    const candidates =
      resource === 'customcandidates'
        ? CUSTOM_API_VERSION
        : (`coordination.k8s.io/${this.api.candidateVersions[0] as LeaseCandidateVersion}` as const);
    const path =
      resource === 'leases'
        ? resourcePaths.leases(namespace)
        : resourcePaths.candidates(candidates, namespace);
    return this.api.handle('test', { method: 'POST', path, body: object }) as KubernetesObject;
  }

  /** Another client changes fields of an object's spec, at any resourceVersion. */
  change(resource: SimResource, key: string, spec: JsonObject): void {
    const object = this.api.store.get(resource, key);
    if (!object) throw new Error(`there is no ${resource} ${key}`);
    const next = { ...specOf(object), ...spec };
    const kept = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null));
    const written = { ...object, spec: kept };
    const isLease = resource === 'leases';
    this.api.store.update(
      resource,
      object,
      isLease ? withOwners(object, written, 'kube-scheduler') : written,
    );
  }

  /** The holder of a Lease releases it, as client-go's elector does. */
  release(key: string): void {
    const lease = this.api.store.get('leases', key);
    if (!lease) throw new Error(`there is no Lease ${key}`);
    const released = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.wallText };
    const written = Object.fromEntries(Object.keys(released).map((field) => [`f:${field}`, {}]));
    const managedFields = [{ manager: 'kube-scheduler', fieldsV1: { 'f:spec': written } }];
    this.api.store.update('leases', lease, {
      ...lease,
      metadata: { ...lease.metadata, managedFields },
      spec: { ...specOf(lease), ...released },
    });
  }

  /** Gives an object these annotations, and no others. */
  annotate(resource: SimResource, key: string, annotations: Readonly<Record<string, string>>): void {
    const object = this.api.store.get(resource, key);
    if (!object) throw new Error(`there is no ${resource} ${key}`);
    const metadata = { ...object.metadata, annotations };
    this.api.store.update(resource, object, { ...object, metadata });
  }

  remove(resource: SimResource, key: string): void {
    const object = this.api.store.get(resource, key);
    if (object) this.api.store.remove(resource, object);
  }

  /** A candidate renews. This is its answer if it was pinged. */
  renew(key: string): void {
    this.change('leasecandidates', key, { renewTime: this.wallText });
  }

  /** A holder renews its Lease. */
  renewLease(key: string): void {
    this.change('leases', key, { renewTime: this.wallText });
  }

  get wallText(): string {
    return formatMicroTime(this.clock.wallTime());
  }

  leaseSpec(key = 'default/scheduler'): JsonObject {
    return this.api.leaseSpec(key);
  }

  candidateSpec(key: string): JsonObject {
    const object = this.api.candidate(key);
    return object ? specOf(object) : {};
  }
}

/** Whether a request is a ping. */
export function isPing({ method, path }: Pick<ApiRequest, 'method' | 'path'>): boolean {
  return method === 'PATCH' && path.includes('/leasecandidates/');
}

/** Whether a request writes a Lease. */
export function isLeaseWrite({ method, path }: Pick<ApiRequest, 'method' | 'path'>): boolean {
  return method !== 'GET' && path.includes('/leases');
}

/** The fields of the spec in a write. */
export function sentSpec({ body }: SimWrite): JsonObject {
  const spec = body['spec'];
  return isJsonObject(spec) ? spec : {};
}
