import { type ContenderName, onStage, startContender } from './contender.ts';
import {
  type HandOvers,
  type MassDeath,
  measureFirstElections,
  measureHandOvers,
  measureMassDeath,
} from './scenarios.ts';

/** How much is measured. */
export interface Scale {
  /** How many Leases are created at once, in one run after the other. */
  readonly firstElections: readonly number[];
  /** How many Leases change hands, in one run after the other. */
  readonly handOvers: readonly number[];
  /** Not measured when absent: it takes a quarter of an hour. */
  readonly massDeath?: { readonly leases: number; readonly candidates: number };
}

/** Everything measured of one contender. */
export interface Figures {
  readonly contender: ContenderName;
  readonly firstElections: ReadonlyMap<number, readonly number[]>;
  readonly handOvers: ReadonlyMap<number, HandOvers>;
  readonly massDeath: MassDeath | undefined;
}

/** Measures one coordinator on a fresh control plane, which is stopped in the end; `progress` is told what comes next. */
export async function measure(
  name: ContenderName,
  scale: Scale,
  progress: (what: string) => void = () => {},
): Promise<Figures> {
  const contender = await startContender(name);
  try {
    const firstElections = new Map<number, readonly number[]>();
    for (const count of scale.firstElections) {
      progress(`${name}: first election of ${count} Leases`);
      firstElections.set(count, await onStage(contender, (stage) => measureFirstElections(stage, count)));
    }
    const handOvers = new Map<number, HandOvers>();
    for (const count of scale.handOvers) {
      progress(`${name}: ${count} Leases change hands`);
      handOvers.set(count, await onStage(contender, (stage) => measureHandOvers(stage, count)));
    }
    const { massDeath } = scale;
    if (massDeath) progress(`${name}: the leaders of ${massDeath.leases} Leases die`);
    return {
      contender: name,
      firstElections,
      handOvers,
      massDeath:
        massDeath &&
        (await onStage(contender, (stage) =>
          measureMassDeath(stage, massDeath.leases, massDeath.candidates),
        )),
    };
  } finally {
    await contender.stop();
  }
}
