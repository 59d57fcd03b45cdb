import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { Clock } from '../../src/support/clock.ts';
import type { Chance } from './chance.ts';
import type { SimApiServer } from './sim-api-server.ts';
import { SimConnection, type SimFate } from './sim-connection.ts';
import { SimLink } from './sim-link.ts';
import type { SimProcess } from './sim-process.ts';

/** What a network needs of its world. */
export interface SimNetworkWorld {
  readonly clock: Clock;
  readonly chance: Chance;
  /** Begins a fault that ends after `ms`, or when all faults end. */
  during(ms: number, begin: () => () => void): void;
  note(text: () => string): void;
  struck(kind: string): void;
}

/** Observers of the requests on a connection. */
export interface SimTap {
  /** Called for each sent request. May change its fate. */
  readonly sent: (request: ApiRequest, fate: SimFate) => SimFate;
  /** Called for each answered request. */
  readonly answered: (request: ApiRequest, answer: unknown) => void;
}

/** Time for a failed watch to recover, and to deliver the missed events. */
const BACKOFF_MS = 30_000;

/** Two API servers, and the paths to them. A path belongs to a place: to the process that runs there. */
export class SimNetwork {
  readonly servers: readonly [SimApiServer, SimApiServer];
  readonly #world: SimNetworkWorld;
  readonly #links = new Map<string, SimLink>();
  readonly #connections = new Map<string, SimConnection>();
  readonly #everMade: SimConnection[] = [];
  /** Latencies without a disturbance. */
  #calm = { latencyMs: 20, watchDelayMs: 10 };

  constructor(world: SimNetworkWorld, servers: readonly [SimApiServer, SimApiServer]) {
    this.#world = world;
    this.servers = servers;
  }

  set calm(calm: { readonly latencyMs: number; readonly watchDelayMs: number }) {
    this.#calm = calm;
    for (const link of this.#links.values()) link.calm = calm;
  }

  get links(): readonly SimLink[] {
    return [...this.#links.values()];
  }

  get connections(): readonly SimConnection[] {
    return [...this.#connections.values()];
  }

  /** The link of a place; undefined if the place was never used. */
  linksOf(place: string): readonly SimLink[] {
    const link = this.#links.get(place);
    return link ? [link] : [];
  }

  /** The connection of the process in a place. */
  connectionsOf(place: string): readonly SimConnection[] {
    const connection = this.#connections.get(place);
    return connection ? [connection] : [];
  }

  linkOf(place: string): SimLink {
    const known = this.#links.get(place);
    if (known) return known;
    const { chance } = this.#world;
    const link = new SimLink(chance.for(`${place} link`), (kind) => this.#world.struck(kind));
    link.calm = this.#calm;
    this.#links.set(place, link);
    return link;
  }

  /** Connects a process with one of the servers, in the place of its predecessor. */
  connect(place: string, process: SimProcess, name: string, tap?: SimTap): SimConnection {
    const link = this.linkOf(place);
    const [first, second] = this.servers;
    const preferred = this.#world.chance.for(`${name} server`).is(0.5) ? first : second;
    const api = preferred.isDown ? (preferred === first ? second : first) : preferred;
    const connection = new SimConnection(api, process, name, {
      fate: (request) => {
        const fate = link.fate(request);
        return tap ? tap.sent(request, fate) : fate;
      },
      onAnswer: (request, answer) => tap?.answered(request, answer),
      watchDelayMs: () => link.watchDelayMs(),
      coalesces: () => link.coalesces(),
    });
    this.#connections.set(place, connection);
    this.#everMade.push(connection);
    return connection;
  }

  /** Closes all connections. An open connection would keep the whole world in memory. */
  close(): void {
    for (const connection of this.#everMade) connection.forget();
  }

  /** Requests of all processes may fail for this long, and until they have reconnected after a backoff. */
  troubleAll(ms: number): void {
    for (const link of this.#links.values()) link.trouble(this.#world.clock.now() + ms + BACKOFF_MS);
  }

  /** A server is down for this long. Its clients connect to the other server. */
  restartServer(index: number, downMs: number): boolean {
    const api = this.servers[index];
    const other = this.servers[1 - index];
    if (!api || !other || api.isDown) return false;
    this.#world.note(() => `API server ${index} is away for ${downMs} ms`);
    api.isDown = true;
    api.isStale = false;
    for (const connection of this.connections) {
      connection.breakWatchesAt(api);
      if (connection.api !== api) continue;
      connection.reset();
      if (!other.isDown) connection.api = other;
    }
    this.#world.during(downMs, () => () => this.#bringBack(api));
    return true;
  }

  /** A server is down for this long. Its clients reconnect to it, as if it ran on the same machine. */
  restartInPlace(index: number, downMs: number): void {
    const api = this.servers[index];
    const places = this.connections.filter((connection) => connection.api === api);
    if (!api || !this.restartServer(index, downMs)) return;
    this.#world.during(downMs, () => () => {
      for (const connection of places) {
        connection.reset();
        connection.api = api;
      }
    });
  }

  #bringBack(api: SimApiServer): void {
    const { chance, clock } = this.#world;
    api.isDown = false;
    api.forgetHistory();
    this.troubleAll(0);
    // As with a load balancer, some clients move back.
    for (const [place, connection] of this.#connections) {
      const isMoved = chance.for(`${place} back ${clock.now()}`).is(0.3);
      if (connection.api.isDown || isMoved) connection.api = api;
    }
  }
}
