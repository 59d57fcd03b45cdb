import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { SimApiServer } from '../simulation/sim-api-server.ts';
import { SimConnection, type SimFate } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A simulated server with a connection to it, for tests of a watch. */
export class WatchedApi {
  readonly clock = new VirtualClock({ random: () => 0.5 });
  readonly api = new SimApiServer(this.clock);
  /** The events of the watch, in order. */
  readonly told: string[] = [];
  /** The fate of our requests. */
  fate: (request: ApiRequest) => SimFate = () => ({});
  readonly connection = new SimConnection(this.api, new SimProcess(this.clock), 'us', {
    fate: (request) => this.fate(request),
  });
}
