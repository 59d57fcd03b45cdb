import { type PodSite, type Program, SimPod } from './sim-pod.ts';

/** A component with a desired number of pods, like a Deployment. */
export class SimDeployment {
  readonly #site: SimDeploymentSite;
  readonly #leaseName: string;
  #version = '1.36.0';
  #started = 0;
  /** Oldest first. */
  #pods: SimPod[] = [];

  constructor(site: SimDeploymentSite, leaseName: string) {
    this.#site = site;
    this.#leaseName = leaseName;
  }

  get leader(): SimPod {
    const leader = this.#pods.find(({ isLeading }) => isLeading);
    if (!leader) throw new Error(`nobody leads ${this.#leaseName}`);
    return leader;
  }

  get others(): readonly SimPod[] {
    return this.#pods.filter(({ isLeading }) => !isLeading);
  }

  /** Starts pods a second apart, or stops some at once, those that do not lead first. */
  async scaleTo(count: number): Promise<void> {
    while (this.#pods.length < count) {
      this.#start();
      await this.#site.run(1000);
    }
    const gone = [...this.others, ...this.#pods.filter(({ isLeading }) => isLeading)];
    for (const pod of gone.slice(0, this.#pods.length - count)) this.#terminate(pod);
  }

  /** Replaces the pods one by one, each when its successor is ready. */
  async roll(version = this.#version): Promise<void> {
    this.#version = version;
    for (const pod of [...this.#pods]) {
      this.#start();
      await this.#site.run(20_000);
      this.#terminate(pod);
      await this.#site.run(5000);
    }
  }

  /** Stops all pods, and then starts the same number. */
  async recreate(version = this.#version): Promise<void> {
    this.#version = version;
    const count = this.#pods.length;
    await this.scaleTo(0);
    await this.#site.run(10_000);
    await this.scaleTo(count);
  }

  /** Drains the node of a pod: the pod is stopped, and another one starts elsewhere. */
  async drain(pod: SimPod): Promise<void> {
    this.#terminate(pod);
    await this.#site.run(5000);
    this.#start();
    await this.#site.run(5000);
  }

  /** Kills a pod. Its container starts again, as a program with another name. */
  async crash(pod: SimPod): Promise<void> {
    this.lose(pod);
    await this.#site.run(3000);
    this.#start();
  }

  /** Kills a pod without a replacement. */
  lose(pod: SimPod): void {
    pod.halt();
    this.#drop(pod);
  }

  /** Suspends pods, which stay. */
  freeze(...pods: readonly SimPod[]): void {
    for (const pod of pods) pod.halt();
  }

  #start(): void {
    const program: Program = {
      leaseName: this.#leaseName,
      binaryVersion: this.#version,
      emulationVersion: this.#version,
    };
    const pod = new SimPod(`${this.#leaseName}-${++this.#started}`, program, this.#site, () => {
      this.#drop(pod);
      this.#site.clock.setTimer(() => this.#start(), 1000);
    });
    this.#pods.push(pod);
    this.#site.pods.add(pod);
    pod.start();
  }

  #terminate(pod: SimPod): void {
    pod.terminate();
    this.#drop(pod);
  }

  #drop(pod: SimPod): void {
    this.#pods = this.#pods.filter((other) => other !== pod);
    this.#site.pods.delete(pod);
  }
}

/** The dependencies of a deployment. */
export interface SimDeploymentSite extends PodSite {
  /** All running pods, which receive writes. */
  readonly pods: Set<SimPod>;
  run(ms: number): Promise<void>;
}
