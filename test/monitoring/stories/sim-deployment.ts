import { type PodSite, type Program, SimPod } from './sim-pod.ts';

/** A component with as many pods as it is to have, as a Deployment and its nodes keep it. */
export class SimDeployment {
  readonly #site: SimDeploymentSite;
  readonly #leaseName: string;
  #version = '1.36.0';
  #started = 0;
  /** The oldest first. */
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

  /** Starts pods a second apart, or tells some to end at once, those that do not lead first. */
  async scaleTo(count: number): Promise<void> {
    while (this.#pods.length < count) {
      this.#start();
      await this.#site.run(1000);
    }
    const gone = [...this.others, ...this.#pods.filter(({ isLeading }) => isLeading)];
    for (const pod of gone.slice(0, this.#pods.length - count)) this.#terminate(pod);
  }

  /** Replaces the pods one by one, each once its successor is ready. */
  async roll(version = this.#version): Promise<void> {
    this.#version = version;
    for (const pod of [...this.#pods]) {
      this.#start();
      await this.#site.run(20_000);
      this.#terminate(pod);
      await this.#site.run(5000);
    }
  }

  /** Has all pods end, and then starts as many. */
  async recreate(version = this.#version): Promise<void> {
    this.#version = version;
    const count = this.#pods.length;
    await this.scaleTo(0);
    await this.#site.run(10_000);
    await this.scaleTo(count);
  }

  /** Drains the node of a pod: it is told to end, and another one starts elsewhere. */
  async drain(pod: SimPod): Promise<void> {
    this.#terminate(pod);
    await this.#site.run(5000);
    this.#start();
    await this.#site.run(5000);
  }

  /** Kills a pod, whose container starts again, as a program under another name. */
  async crash(pod: SimPod): Promise<void> {
    this.lose(pod);
    await this.#site.run(3000);
    this.#start();
  }

  /** Kills a pod, and nothing takes its place. */
  lose(pod: SimPod): void {
    pod.halt();
    this.#drop(pod);
  }

  /** Freezes pods, which stay. */
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

/** What a deployment needs of its cluster. */
export interface SimDeploymentSite extends PodSite {
  /** All pods that run: they are told of writes. */
  readonly pods: Set<SimPod>;
  run(ms: number): Promise<void>;
}
