import { createDemoWorld, type DemoWorld } from '../../src/demo/demo-world.ts';
import type { SampleTiming } from '../../src/demo/sample-candidate.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { runSettings } from '../../src/settings/run-settings.ts';
import { resolveSettings } from '../../src/settings/settings-table.ts';
import { SimApiServer } from '../simulation/sim-api-server.ts';
import { SimConnection, type SimFate } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

export const timing: SampleTiming = {
  leaseDurationMs: 4000,
  renewDeadlineMs: 2000,
  retryPeriodMs: 500,
  stoppingMs: 1000,
};

/** The demo's world on a simulated server and a virtual clock. */
export class SimDemo {
  readonly clock = new VirtualClock();
  readonly api = new SimApiServer(this.clock);
  readonly world: DemoWorld;
  /** Like `sample-1 leads`, in order. */
  readonly told: string[] = [];
  readonly connections: SimConnection[] = [];
  /** The fate of requests. */
  fate: (request: ApiRequest) => SimFate = () => ({});

  constructor() {
    const given = { leaseDurationSeconds: '4s', electionDurationMs: '1s', listen: 'off' };
    this.world = createDemoWorld({
      clock: this.clock,
      timing,
      settings: resolveSettings(runSettings, given, {}),
      onEvent: ({ who, text }) => this.told.push(`${who} ${text}`),
      connect: () => {
        const connection = new SimConnection(this.api, new SimProcess(this.clock), 'demo', {
          fate: (request) => this.fate(request),
        });
        this.connections.push(connection);
        return connection;
      },
    });
  }
}
