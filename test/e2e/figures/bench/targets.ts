import { describe, describeRatio, markdown } from './bench-table.ts';
import { type ContestantName, contestants } from './contestant.ts';
import { type Measure, measures, type Sample } from './measures.ts';
import { byRound, ratios, ratiosOfMeasures, type Statistic, spreadOf } from './summary.ts';

/** The bounds of a figure of this controller, for the median of all rounds. */
export type Bound =
  | { readonly kind: 'times the limit'; readonly most: number }
  /** Relative to this controller's value of another measure. */
  | { readonly kind: 'times'; readonly measure: Measure; readonly most: number }
  /** In the unit of the measure. */
  | { readonly kind: 'value'; readonly most: number }
  /** Every wait had a result. */
  | { readonly kind: 'none missed' };

/** The target for this many Leases. */
export interface Target {
  readonly what: string;
  readonly leases: number;
  readonly measure: Measure;
  readonly statistic: Statistic;
  /** One of these bounds is enough. */
  readonly anyOf: readonly Bound[];
}

const limit: Bound = { kind: 'times the limit', most: 1.5 };
const milliseconds = (most: number): Bound => ({ kind: 'value', most });

/** All targets, in the order of the table. */
export const targets: readonly Target[] = [
  {
    what: 'dead holder’s expiry to the new holder',
    leases: 300,
    measure: 'death',
    statistic: 'p99',
    anyOf: [milliseconds(50), limit],
  },
  {
    what: 'clean release to the new holder',
    leases: 300,
    measure: 'release',
    statistic: 'p99',
    anyOf: [milliseconds(50), limit],
  },
  {
    what: 'first elections at once, process idle until then',
    leases: 300,
    measure: 'first',
    statistic: 'p99',
    anyOf: [limit],
  },
  {
    what: 'first 20 elections of a process, beside the hundredth',
    leases: 300,
    measure: 'cold',
    statistic: 'p50',
    anyOf: [{ kind: 'times', measure: 'warm', most: 1.5 }],
  },
  {
    what: '... the first holder',
    leases: 300,
    measure: 'first',
    statistic: 'p50',
    anyOf: [milliseconds(150)],
  },
  {
    what: '... from the best candidate’s appearance until it holds',
    leases: 300,
    measure: 'firstBest',
    statistic: 'p99',
    anyOf: [milliseconds(1500)],
  },
  {
    what: 'writes per first election',
    leases: 300,
    measure: 'firstWrites',
    statistic: 'value',
    anyOf: [{ kind: 'value', most: 1.2 }],
  },
  {
    what: 'all holders die within 10 s',
    leases: 1000,
    measure: 'death',
    statistic: 'p99',
    anyOf: [limit],
  },
  {
    what: '... of these, missed',
    leases: 1000,
    measure: 'death',
    statistic: 'p99',
    anyOf: [{ kind: 'none missed' }],
  },
  {
    what: 'start to ready',
    leases: 10_000,
    measure: 'ready',
    statistic: 'value',
    anyOf: [milliseconds(2000)],
  },
  {
    what: '... event loop held for at most',
    leases: 10_000,
    measure: 'held',
    statistic: 'value',
    anyOf: [milliseconds(50)],
  },
  {
    what: 'resident memory at rest',
    leases: 10_000,
    measure: 'rss',
    statistic: 'value',
    anyOf: [{ kind: 'value', most: 200e6 }],
  },
  {
    what: 'steady state, renewed every 2 s: writes',
    leases: 1000,
    measure: 'steadyWrites',
    statistic: 'value',
    anyOf: [{ kind: 'value', most: 0 }],
  },
  {
    what: '... share of a core',
    leases: 1000,
    measure: 'steadyCpus',
    statistic: 'value',
    anyOf: [{ kind: 'value', most: 0.03 }],
  },
];

/** The measured value for a bound of this controller, as a median of rounds; undefined if it was not measured. */
export function found(samples: readonly Sample[], target: Target, bound: Bound): number | undefined {
  const values = (() => {
    switch (bound.kind) {
      case 'times the limit':
        return ratios(samples, 'this controller', 'the limit', target);
      case 'times':
        return ratiosOfMeasures(samples, target.leases, target.measure, bound.measure);
      case 'value':
        return [...byRound(samples, 'this controller', target).values()];
      case 'none missed':
        return [missed(samples, 'this controller', target)].filter((count) => count !== undefined);
    }
  })();
  return values.length === 0 ? undefined : spreadOf(values).median;
}

/** The number of waits without a result in all rounds; undefined if nothing was measured. */
function missed(
  samples: readonly Sample[],
  contestant: ContestantName,
  { measure, leases }: Target,
): number | undefined {
  const own = samples.filter(
    (sample) => sample.contestant === contestant && sample.measure === measure && sample.leases === leases,
  );
  if (own.length === 0) return undefined;
  return own.flatMap(({ values }) => values).filter((value) => !Number.isFinite(value)).length;
}

function limitOf(bound: Bound): number {
  return bound.kind === 'none missed' ? 0 : bound.most;
}

/** Whether a target is met; undefined if it was not measured. */
function isMet(samples: readonly Sample[], target: Target): boolean | undefined {
  const known = target.anyOf.flatMap((bound) => {
    const value = found(samples, target, bound);
    return value === undefined ? [] : [value <= limitOf(bound)];
  });
  return known.length === 0 ? undefined : known.some((isWithin) => isWithin);
}

/** Returns the targets and the measurements as a table in Markdown. Figures are medians of rounds. */
export function targetTable(samples: readonly Sample[]): string {
  const lines = targets.map((target) => {
    const met = isMet(samples, target);
    return [
      `${target.what}, ${target.leases} x 5`,
      ...contestants.map((contestant) => figureOf(samples, contestant, target)),
      target.anyOf.map((bound) => describeBound(target, bound)).join(' or '),
      met === undefined ? 'not measured' : met ? 'yes' : `no${describeMisses(samples, target)}`,
    ];
  });
  const header = ['what', 'built-in', 'ours', 'limit', 'target', 'met?'];
  return markdown([header, header.map(() => '---'), ...lines]);
}

function figureOf(samples: readonly Sample[], contestant: ContestantName, target: Target): string {
  if (target.anyOf.some(({ kind }) => kind === 'none missed')) {
    const count = missed(samples, contestant, target);
    return count === undefined ? '' : String(count);
  }
  const values = [...byRound(samples, contestant, target).values()];
  if (values.length === 0) return '';
  const text = describe(target.measure, spreadOf(values).median);
  const isWait = target.statistic !== 'value';
  return isWait ? `${target.statistic} ${text}` : text;
}

function describeBound({ measure, statistic }: Target, bound: Bound): string {
  switch (bound.kind) {
    case 'times the limit':
      return `${statistic} <= ${bound.most} x the limit`;
    case 'times':
      return `<= ${bound.most} x`;
    case 'value':
      return `${bound.most === 0 ? '' : '<= '}${describe(measure, bound.most)}`;
    case 'none missed':
      return '0';
  }
}

/** The factor by which it misses the target, for ratios. */
function describeMisses(samples: readonly Sample[], target: Target): string {
  const multiples = target.anyOf.flatMap((bound) => {
    const value = found(samples, target, bound);
    const isMultiple = bound.kind === 'times' || bound.kind === 'times the limit';
    return isMultiple && value !== undefined ? [`${describeRatio(value)} x`] : [];
  });
  return multiples.length === 0 ? '' : `, ${multiples.join(', ')}`;
}

const SLACK = 1.5;

/**
 * Describes the figures that miss their target by more than half; empty if there are none. Only ratios and numbers of
 * writes can miss it: an absolute time says more about the machine than about the program, but it may be short
 * enough. For the 99th percentile of waits, which is random in a short run, the 90th percentile must miss it, too.
 * For a size that did not run, the largest one that did counts.
 */
export function shortfalls(samples: readonly Sample[]): readonly string[] {
  return targets.flatMap((target) => {
    const played = playedAs(samples, target);
    if (!played) return [];
    const robust: Target = { ...played, statistic: played.statistic === 'p99' ? 'p90' : played.statistic };
    const known = robust.anyOf.flatMap((bound) => {
      const value = found(samples, robust, bound);
      const exact = found(samples, played, bound);
      if (value === undefined || exact === undefined) return [];
      return [{ bound, value, isBehind: Math.min(value, exact) > limitOf(bound) * SLACK }];
    });
    if (known.some(({ isBehind }) => !isBehind)) return [];
    return known
      .filter(({ bound }) => isRatio(robust, bound))
      .map(
        ({ bound, value }) =>
          `${robust.what}, ${robust.leases} x 5: ${describeFound(samples, robust, bound, value)}; ` +
          `the target is ${limitOf(bound)}, more than ${limitOf(bound) * SLACK} fails`,
      );
  });
}

/** The target at the size that ran; undefined if there was none, or if another target says the same for that size. */
function playedAs(samples: readonly Sample[], target: Target): Target | undefined {
  const sizes = samples.filter(({ measure }) => measure === target.measure).map(({ leases }) => leases);
  if (sizes.length === 0) return undefined;
  if (sizes.includes(target.leases)) return target;
  const leases = Math.max(...sizes);
  const kindsOf = ({ anyOf }: Target) => anyOf.map(({ kind }) => kind);
  const isSaid = targets.some(
    (other) =>
      other.measure === target.measure &&
      other.leases === leases &&
      kindsOf(target).some((kind) => kindsOf(other).includes(kind)),
  );
  return isSaid ? undefined : { ...target, leases };
}

/** Whether a bound is independent of the machine. */
function isRatio({ measure }: Target, { kind }: Bound): boolean {
  return kind !== 'value' || measures[measure].unit === 'count';
}

/** Formats the figure and, for a ratio, its reference. */
function describeFound(samples: readonly Sample[], target: Target, bound: Bound, value: number): string {
  const median = (contestant: ContestantName, measure: Measure) => {
    const rounds = [...byRound(samples, contestant, { ...target, measure }).values()];
    return rounds.length === 0 ? 'nothing' : describe(measure, spreadOf(rounds).median);
  };
  const own = `${target.statistic === 'value' ? '' : `${target.statistic} `}${median('this controller', target.measure)}`;
  switch (bound.kind) {
    case 'times the limit':
      return `${own}, ${describeRatio(value)} times the limit (${median('the limit', target.measure)})`;
    case 'times':
      return `${own}, ${describeRatio(value)} times what it is later (${median('this controller', bound.measure)})`;
    case 'value':
      return own;
    case 'none missed':
      return `${value} without a leader`;
  }
}
