import { SimApiServer } from '../../simulation/sim-api-server.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { ScrapedSeries } from './scraped-series.ts';
import { SimCoordinator } from './sim-coordinator.ts';
import { SimDeployment, type SimDeploymentSite } from './sim-deployment.ts';
import type { SimPod } from './sim-pod.ts';

export const SCRAPE_MS = 15_000;

/** A cluster in virtual time with scraped coordinators. */
export class SimCluster implements SimDeploymentSite {
  readonly clock = new VirtualClock();
  readonly api = new SimApiServer(this.clock);
  readonly pods = new Set<SimPod>();
  readonly scraped: ScrapedSeries;
  #coordinators: SimCoordinator[] = [];
  #started = 0;

  /** @param metrics to keep */
  constructor(metrics: ReadonlySet<string>) {
    this.scraped = new ScrapedSeries(metrics);
    this.api.onWrite = (write) => {
      for (const pod of this.pods) pod.onWrite(write);
    };
  }

  async run(ms: number): Promise<void> {
    const until = this.clock.now() + ms;
    for (;;) {
      const at = this.clock.now();
      const nextScrapeAt = (Math.floor(at / SCRAPE_MS) + 1) * SCRAPE_MS;
      await this.clock.advance(Math.min(until, nextScrapeAt) - at);
      if (nextScrapeAt > until) return;
      await this.#scrape();
    }
  }

  /** Starts pods of the coordinator, or stops the oldest ones. */
  coordinators(count: number): void {
    while (this.#coordinators.length < count) {
      const name = `coordinator-${++this.#started}`;
      this.#coordinators.push(new SimCoordinator(name, this.clock, this.api));
    }
    for (const gone of this.#coordinators.splice(0, this.#coordinators.length - count)) this.#end(gone);
  }

  /** Replaces the coordinator's pods one by one, like an update of its Deployment. */
  async rollCoordinators(): Promise<void> {
    const count = this.#coordinators.length;
    for (let replaced = 0; replaced < count; replaced++) {
      this.coordinators(count + 1);
      await this.run(10_000);
      this.coordinators(count);
      await this.run(5000);
    }
  }

  /** Kills a coordinator, and starts another one. */
  async crashCoordinator(): Promise<void> {
    const count = this.#coordinators.length;
    this.#coordinators.shift()?.kill();
    await this.run(3000);
    this.coordinators(count);
  }

  /** A component with a leader. */
  async deploy(leaseName: string, replicas: number): Promise<SimDeployment> {
    const deployment = new SimDeployment(this, leaseName);
    await deployment.scaleTo(replicas);
    await this.run(30_000);
    return deployment;
  }

  #ending = new Set<SimCoordinator>();

  #end(coordinator: SimCoordinator): void {
    this.#ending.add(coordinator);
    coordinator.terminate();
  }

  async #scrape(): Promise<void> {
    const targets = [...this.#coordinators, ...this.#ending].filter(({ isRunning }) => isRunning);
    const texts = targets.map(async ({ name, metrics }) => [name, await metrics.registry.metrics()] as const);
    this.scraped.add(new Map(await Promise.all(texts)));
  }
}
