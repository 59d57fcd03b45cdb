import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { Clock } from '../../src/support/clock.ts';
import type { Chance } from './chance.ts';
import type { SimApiServer } from './sim-api-server.ts';
import { SimConnection, type SimFate } from './sim-connection.ts';
import { SimLink } from './sim-link.ts';
import type { SimProcess } from './sim-process.ts';

/** What a network needs of the world around it. */
export interface SimNetworkWorld {
  readonly clock: Clock;
  readonly chance: Chance;
  /** Begins something that ends after `ms`, or when all trouble does. */
  during(ms: number, begin: () => () => void): void;
  note(text: () => string): void;
  struck(kind: string): void;
}

/** Who looks at what a connection carries. */
export interface SimTap {
  /** Told of each request that is sent; may change what becomes of it. */
  readonly sent: (request: ApiRequest, fate: SimFate) => SimFate;
  /** Told of each request that was answered. */
  readonly answered: (request: ApiRequest, answer: unknown) => void;
}

/** For a watch that has failed to be there again, and for what was missed meanwhile. */
const BACKOFF_MS = 30_000;

/** Two API servers, and the ways to them. A way belongs to a place: to whoever runs there. */
export class SimNetwork {
  readonly servers: readonly [SimApiServer, SimApiServer];
  readonly #world: SimNetworkWorld;
  readonly #links = new Map<string, SimLink>();
  readonly #connections = new Map<string, SimConnection>();
  readonly #everMade: SimConnection[] = [];
  /** How long things travel where nothing is wrong. */
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

  /** The link of a place, if anybody has ever been there. */
  linksOf(place: string): readonly SimLink[] {
    const link = this.#links.get(place);
    return link ? [link] : [];
  }

  /** The connection of whoever is in a place. */
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

  /** Connects a process with one of the servers, in the place of whoever was there before. */
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

  /** Ends every connection there has ever been: what is left open would keep the whole world in memory. */
  close(): void {
    for (const connection of this.#everMade) connection.forget();
  }

  /** Nobody can be sure to be heard for so long, and for as long as it takes to come back after a backoff. */
  troubleAll(ms: number): void {
    for (const link of this.#links.values()) link.trouble(this.#world.clock.now() + ms + BACKOFF_MS);
  }

  /** A server is away for so long, and everybody connected to it goes to the other one. */
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

  /** A server is away for so long, and everybody connected to it comes back to it, as to one on the same machine. */
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
    // As a load balancer would, some are brought back.
    for (const [place, connection] of this.#connections) {
      const isMoved = chance.for(`${place} back ${clock.now()}`).is(0.3);
      if (connection.api.isDown || isMoved) connection.api = api;
    }
  }
}
