import { Sink } from './normalize.ts';
import { StateSet } from './state-set.ts';
import { type Lasso, Waits } from './waits.ts';

/** A possible next step. */
export interface AnyStep<State> {
  readonly choice: string;
  readonly world: State;
  readonly violation?: string | undefined;
  readonly note?: string | undefined;
}

/** A system to explore: its initial states, and the steps that may follow. */
export interface Model<State> {
  readonly initial: State;
  readonly steps: (state: State) => Iterable<AnyStep<State>>;
  readonly write: (state: State, sink: Sink) => void;
  /** If given: whether something is missing in a state that must not be missing for ever. */
  readonly isStuck?: (state: State) => boolean;
  /** Whether time passes with a step. */
  readonly isTick?: (step: AnyStep<State>) => boolean;
}

export interface Limits {
  readonly maxStates?: number;
  readonly onLevel?: (depth: number, states: number, frontier: number) => void;
}

export interface Exploration<State> {
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  readonly ms: number;
  /** False if the limit was reached before all states were explored. */
  readonly isWhole: boolean;
  /** The shortest path to a broken promise; undefined: there is none among the explored states. */
  readonly violation: { readonly text: string; readonly path: readonly AnyStep<State>[] } | undefined;
}

/** Explores all states in breadth-first order, until a promise is broken. */
export function explore<State>(
  model: Model<State>,
  { maxStates = Number.POSITIVE_INFINITY, onLevel }: Limits = {},
): Exploration<State> {
  const startedAt = performance.now();
  const seen = new StateSet();
  const sink = new Sink();
  model.write(model.initial, sink);
  seen.add(sink.words, sink.length, 0, 0);
  let frontier: { state: State; index: number }[] = [{ state: model.initial, index: 0 }];
  let depth = 0;
  let transitions = 0;
  const waits = model.isStuck && new Waits();
  const result = (isWhole: boolean, violation?: Exploration<State>['violation']): Exploration<State> => ({
    states: seen.size,
    transitions,
    depth,
    ms: performance.now() - startedAt,
    isWhole,
    violation,
  });
  while (frontier.length > 0) {
    onLevel?.(depth, seen.size, frontier.length);
    const next: typeof frontier = [];
    depth++;
    for (const { state, index } of frontier) {
      let ordinal = 0;
      for (const step of model.steps(state)) {
        transitions++;
        if (step.violation !== undefined) {
          const path = follow(model, [...seen.pathTo(index), ordinal]);
          return result(false, { text: step.violation, path });
        }
        model.write(step.world, sink);
        const added = seen.add(sink.words, sink.length, index, ordinal);
        if (added >= 0) next.push({ state: step.world, index: added });
        if (waits && model.isStuck?.(state) && model.isStuck(step.world))
          waits.add(index, added >= 0 ? added : ~added, ordinal, model.isTick?.(step) ?? false);
        ordinal++;
      }
      if (seen.size >= maxStates) break;
    }
    if (seen.size >= maxStates) break;
    frontier = next;
  }
  const isWhole = seen.size < maxStates;
  for (const lasso of waits?.rounds(seen).take(MAX_ROUNDS) ?? []) {
    if (!lastsForEver(model, lasso)) continue;
    const path = follow(model, [...lasso.way, ...lasso.round]);
    return result(isWhole, { text: `it goes on for ever like the last ${lasso.round.length} steps`, path });
  }
  return result(isWhole);
}

/** Whether the cycle of a lasso can repeat for ever. States that count as equal may differ in the age of events. */
function lastsForEver<State>(model: Model<State>, { way, round }: Lasso): boolean {
  let state = model.initial;
  for (const step of follow(model, way)) state = step.world;
  const choices = follow(model, [...way, ...round])
    .slice(way.length)
    .map(({ choice }) => choice);
  for (let count = 0; count < ROUNDS; count++) {
    for (const choice of choices) {
      const step = [...model.steps(state)].find((step) => step.choice === choice);
      if (!step || !model.isStuck?.(step.world)) return false;
      state = step.world;
    }
  }
  return true;
}

const ROUNDS = 100;
/** Maximum number of lassos to check. Later ones are longer paths to the same cycles. */
const MAX_ROUNDS = 1000;

/** Returns the steps of a path, each as its index among the possible steps. */
function follow<State>(model: Model<State>, path: readonly number[]): AnyStep<State>[] {
  let state = model.initial;
  return path.map((ordinal) => {
    const step = [...model.steps(state)][ordinal];
    if (!step) throw new Error('the steps of a state have changed');
    state = step.world;
    return step;
  });
}
