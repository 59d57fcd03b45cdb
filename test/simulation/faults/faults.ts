import { networkFaults } from './network-faults.ts';
import { objectFaults } from './object-faults.ts';
import { participantFaults } from './participant-faults.ts';
import { priorityFaults } from './priority-faults.ts';
import { processFaults } from './process-faults.ts';
import { serverFaults } from './server-faults.ts';

/** All faults. */
export const FAULTS = {
  ...networkFaults,
  ...serverFaults,
  ...processFaults,
  ...objectFaults,
  ...priorityFaults,
  ...participantFaults,
};

export type FaultKind = keyof typeof FAULTS;
