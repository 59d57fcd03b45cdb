import { assembleCoordinator, type Coordinator } from '../../../src/controller/coordinator.ts';
import { type ApiRequest, describeTarget, type KubernetesClient } from '../../../src/kubernetes/client.ts';
import { ApiError } from '../../../src/kubernetes/errors.ts';
import { createControllerReport } from '../../../src/telemetry/controller-report.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics, type Metrics } from '../../../src/telemetry/metrics.ts';
import type { SimApiServer } from '../../simulation/sim-api-server.ts';
import { SimConnection } from '../../simulation/sim-connection.ts';
import { SimProcess } from '../../simulation/sim-process.ts';
import { defaultSettings } from '../../support/election-builders.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';

/** A pod with the real coordinator, its lock and its metrics, wired as in the program. */
export class SimCoordinator {
  readonly name: string;
  readonly metrics: Metrics;
  readonly #process: SimProcess;
  readonly #coordinator: Coordinator;
  #isRunning = true;

  constructor(name: string, clock: VirtualClock, api: SimApiServer) {
    this.name = name;
    const process = new SimProcess(clock);
    const metrics = createMetrics({ version: '0.0.0', clock: process });
    const logger = createLogger({ level: 'error', clock: process, destination: { write: () => {} } });
    const now = () => process.now();
    const report = createControllerReport({ logger, metrics, now, isDryRun: false });
    this.#process = process;
    this.metrics = metrics;
    this.#coordinator = assembleCoordinator({
      clock: process,
      connect: () => measured(new SimConnection(api, process, name), process, metrics),
      settings: {
        ...{ ...defaultSettings, namespaces: [], workers: 8, dryRun: false, takeOver: true },
        lockNamespace: 'kube-system',
        leaderLabel: false,
      },
      observe: report,
    });
    const { controller, lock } = this.#coordinator;
    metrics.watch({
      scheduler: controller.scheduler,
      survey: (known) => controller.survey(known),
      lastHeard: (resource) => controller.lastHeard(resource),
    });
    if (lock) metrics.lock.changed(lock.state);
    this.#coordinator.start();
  }

  /** Whether it can be scraped. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** SIGTERM: it releases the lock. */
  terminate(): void {
    void this.#coordinator.stop().then(() => this.kill());
  }

  kill(): void {
    this.#isRunning = false;
    this.#process.kill();
  }
}

/** Reports each call to the metrics, like the real client. */
function measured(client: KubernetesClient, clock: SimProcess, { api }: Metrics): KubernetesClient {
  async function call<T>(request: ApiRequest, answer: Promise<T>): Promise<T> {
    const startedAt = clock.now();
    const { verb } = describeTarget(request.method, request.path, request.query);
    const tell = (status: number | 'error') =>
      api.called({ method: request.method, verb, status, durationMs: clock.now() - startedAt });
    try {
      const value = await answer;
      tell(200);
      return value;
    } catch (error) {
      tell(error instanceof ApiError ? error.status : 'error');
      throw error;
    }
  }
  return {
    server: client.server,
    request: (request) => call(request, client.request(request)),
    stream: (request) => call(request, client.stream(request)),
    close: () => client.close(),
  };
}
