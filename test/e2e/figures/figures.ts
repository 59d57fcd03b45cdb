import {
  type Contender,
  type ContenderName,
  onElectorStage,
  onSimStage,
  startContender,
} from './contender.ts';
import { type CrowdedLease, type CrowdedLeaseScale, measureCrowdedLease } from './crowded-lease.ts';
import { type FirstStart, type FirstStartScale, measureFirstStart } from './first-start.ts';
import { type MassDeath, type MassDeathScale, measureMassDeath } from './mass-death.ts';
import { type HandOvers, measureFirstElections, measureHandOvers } from './scenarios.ts';

/** The number of measurements: each list contains runs of one scenario. */
export interface Scale {
  /** Number of Leases that are created at once. */
  readonly firstElections: readonly number[];
  /** Number of Leases that change hands. */
  readonly handOvers: readonly number[];
  readonly firstStarts: readonly FirstStartScale[];
  readonly massDeaths: readonly MassDeathScale[];
  readonly crowdedLeases: readonly CrowdedLeaseScale[];
  /**
   * Whether all runs share one control plane, and hand-overs and mass deaths even run at the same time: for few
   * Leases, which leave the machine idle most of the time. Otherwise each run has its own control plane.
   */
  readonly besideEachOther: boolean;
}

/** All measurements of one contender, in the order of its {@link Scale}. */
export interface Figures {
  readonly contender: ContenderName;
  readonly firstElections: readonly FirstElections[];
  readonly handOvers: readonly HandOvers[];
  readonly firstStarts: readonly FirstStart[];
  readonly massDeaths: readonly MassDeath[];
  readonly crowdedLeases: readonly CrowdedLease[];
}

/** The result of {@link measureFirstElections} for this many Leases. */
export interface FirstElections {
  readonly leases: number;
  readonly waits: readonly number[];
}

/** Receives the progress. */
export interface Progress {
  begun(what: string): void;
  /** The result of one run. */
  done(figures: Figures): void;
}

/** The place of a run, with its own namespace. */
type Place = <T>(namespace: string, play: (contender: Contender) => Promise<T>) => Promise<T>;

const nothing = { firstElections: [], handOvers: [], firstStarts: [], massDeaths: [], crowdedLeases: [] };

/** Measures one coordinator on fresh control planes, which are stopped at the end. */
export async function measure(name: ContenderName, scale: Scale, progress?: Progress): Promise<Figures> {
  if (!scale.besideEachOther) {
    const alone = onPlanesOfTheirOwn(name);
    return measureAll(name, scale, { alone, together: alone }, progress);
  }
  const contender = await startContender(name);
  const together = on(contender);
  const inTurn = queue();
  const alone: Place = (namespace, play) => inTurn(() => together(namespace, play));
  try {
    return await measureAll(name, scale, { alone, together }, progress);
  } finally {
    await contender.stop();
  }
}

async function measureAll(
  contender: ContenderName,
  scale: Scale,
  { alone, together }: { readonly alone: Place; readonly together: Place },
  progress?: Progress,
): Promise<Figures> {
  async function runs<S, T>(
    list: keyof typeof nothing,
    scales: readonly S[],
    place: Place,
    describe: (scale: S) => string,
    measureOne: (contender: Contender, namespace: string, scale: S) => Promise<T>,
  ): Promise<readonly T[]> {
    return Promise.all(
      scales.map((each, number) => {
        const namespace = `${list.toLowerCase()}-${number}`;
        return place(namespace, async (measured) => {
          progress?.begun(`${contender}: ${describe(each)}`);
          const result = await measureOne(measured, namespace, each);
          progress?.done({ contender, ...nothing, [list]: [result] });
          return result;
        });
      }),
    );
  }

  const firstElections = await runs(
    'firstElections',
    scale.firstElections,
    alone,
    (leases) => `first election of ${leases} Leases`,
    (measured, namespace, leases) =>
      onElectorStage(measured, namespace, async (stage) => ({
        leases,
        waits: await measureFirstElections(stage, leases),
      })),
  );
  // Beside other work, a coordinator may be delayed until all candidates of a component exist, which would look like
  // an advantage.
  const firstStarts = await runs(
    'firstStarts',
    scale.firstStarts,
    alone,
    ({ leases }) => `first start of ${leases} components`,
    (measured, namespace, start) =>
      onElectorStage(measured, namespace, (stage) => measureFirstStart(stage, start)),
  );
  const [handOvers, massDeaths] = await Promise.all([
    runs(
      'handOvers',
      scale.handOvers,
      together,
      (leases) => `${leases} Leases change hands`,
      (measured, namespace, leases) =>
        onElectorStage(measured, namespace, (stage) => measureHandOvers(stage, leases)),
    ),
    runs(
      'massDeaths',
      scale.massDeaths,
      together,
      ({ leases, renewEveryMs }) =>
        `the holders of ${leases} Leases die that renewed every ${renewEveryMs} ms`,
      (measured, namespace, death) =>
        onSimStage(measured, namespace, (stage) => measureMassDeath(stage, death)),
    ),
  ]);
  const crowdedLeases = await runs(
    'crowdedLeases',
    scale.crowdedLeases,
    alone,
    ({ silent, others }) => `${others} Leases are released beside one with ${silent} silent candidates`,
    (measured, namespace, crowded) =>
      onSimStage(measured, namespace, (stage) => measureCrowdedLease(stage, crowded)),
  );
  return { contender, firstElections, handOvers, firstStarts, massDeaths, crowdedLeases };
}

function on(contender: Contender): Place {
  return async (namespace, play) => {
    try {
      return await play(contender);
    } finally {
      // Dead candidates would slow down later runs.
      await contender.clear(namespace);
    }
  };
}

/** One after the other: the remains of one run in servers and coordinator disappear with them. */
function onPlanesOfTheirOwn(name: ContenderName): Place {
  const inTurn = queue();
  return (_, play) =>
    inTurn(async () => {
      const contender = await startContender(name);
      try {
        return await play(contender);
      } finally {
        await contender.stop();
      }
    });
}

/** Begins each run after the last one. */
function queue(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const result = last.then(run);
    last = result;
    return result;
  };
}
