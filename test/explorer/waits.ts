import type { StateSet } from './state-set.ts';

/** A path to a state, and a cycle that leads from there back to it. Each step is its index among the possible steps. */
export interface Lasso {
  readonly way: readonly number[];
  readonly round: readonly number[];
}

interface Edge {
  readonly to: number;
  readonly step: number;
  readonly isTick: boolean;
}

/**
 * The steps between states in which something is missing. A cycle among them in which time passes means that it can
 * be missing for ever.
 */
export class Waits {
  readonly #edges = new Map<number, Edge[]>();

  add(from: number, to: number, step: number, isTick: boolean): void {
    const edges = this.#edges.get(from);
    if (edges) edges.push({ to, step, isTick });
    else this.#edges.set(from, [{ to, step, isTick }]);
  }

  /** Returns the cycles, each with the fewest steps, in the order of their first states. */
  *rounds(seen: StateSet): Generator<Lasso> {
    const components = this.#components();
    // States are numbered in the order of their first visit.
    for (const from of [...this.#edges.keys()].sort((a, b) => a - b)) {
      const component = components.get(from);
      const ticks =
        this.#edges.get(from)?.filter(({ to, isTick }) => isTick && components.get(to) === component) ?? [];
      for (const tick of ticks) {
        const back = this.#wayBack(tick.to, from, (state) => components.get(state) === component);
        if (back) yield { way: seen.pathTo(from), round: [tick.step, ...back] };
      }
    }
  }

  /** Returns the shortest path from one state to another. */
  #wayBack(from: number, to: number, isWithin: (state: number) => boolean): number[] | undefined {
    const before = new Map<number, { readonly state: number; readonly step: number }>();
    const queue = [from];
    for (const state of queue) {
      if (state === to) break;
      for (const edge of this.#edges.get(state) ?? []) {
        if (edge.to === from || before.has(edge.to) || !isWithin(edge.to)) continue;
        before.set(edge.to, { state, step: edge.step });
        queue.push(edge.to);
      }
    }
    const steps: number[] = [];
    for (let state = to; state !== from; ) {
      const last = before.get(state);
      if (!last) return undefined;
      steps.push(last.step);
      state = last.state;
    }
    return steps.reverse();
  }

  /** Tarjan's algorithm without recursion: returns the number of the strongly connected component of each state. */
  #components(): ReadonlyMap<number, number> {
    const components = new Map<number, number>();
    const order = new Map<number, number>();
    const low = new Map<number, number>();
    const open: number[] = [];
    for (const root of this.#edges.keys()) {
      if (order.has(root)) continue;
      const calls = [{ state: root, next: 0 }];
      while (calls.length > 0) {
        const call = calls.at(-1);
        if (!call) break;
        const { state } = call;
        if (call.next === 0) {
          order.set(state, order.size);
          low.set(state, order.get(state) ?? 0);
          open.push(state);
        }
        const edge = this.#edges.get(state)?.[call.next++];
        if (edge) {
          if (!order.has(edge.to)) calls.push({ state: edge.to, next: 0 });
          else if (!components.has(edge.to)) lower(low, state, order.get(edge.to) ?? 0);
          continue;
        }
        calls.pop();
        const caller = calls.at(-1);
        if (caller) lower(low, caller.state, low.get(state) ?? 0);
        if (low.get(state) !== order.get(state)) continue;
        for (let member = open.pop(); member !== undefined; member = open.pop()) {
          components.set(member, state);
          if (member === state) break;
        }
      }
    }
    return components;
  }
}

function lower(low: Map<number, number>, state: number, value: number): void {
  low.set(state, Math.min(low.get(state) ?? value, value));
}
