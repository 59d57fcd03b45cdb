import { metadataField, text } from '../schema/object-meta.ts';
import type { StructSchema } from '../schema/schema.ts';
import { OLDEST_EMULATION_VERSION } from './leases.ts';

const MODEL = 'dev.coordinated-leader-election.v1alpha1';

const specSchema: StructSchema = {
  kind: 'struct',
  name: 'LeaseCandidateSpec',
  model: `${MODEL}.LeaseCandidateSpec`,
  description: 'Which Lease the candidate stands for, what speaks for it, and its signs of life.',
  isStructural: true,
  // Custom resources are written in the order of the alphabet.
  fields: {
    binaryVersion: {
      type: text,
      description:
        'The version of the program, as a semantic version without a leading v, such as 1.36.3 or 2.0.0-rc.1. Under the strategy OldestEmulationVersion, the lower one of two candidates with the same emulationVersion is elected. Programs whose versions do not matter for elections leave it out: they are all 0.0.0.',
      zero: 'keep',
      default: '0.0.0',
      maxLength: 128,
    },
    emulationVersion: {
      type: text,
      description:
        'The version that the program behaves like, if that is an older one than its binaryVersion: during an upgrade, a program emulates the version that can still be rolled back to. It is never higher than binaryVersion. Programs that emulate nothing leave it out: it then counts as their binaryVersion. Under the strategy OldestEmulationVersion, the candidate with the lowest one is elected.',
      zero: 'keep',
      maxLength: 128,
    },
    leaseName: {
      type: text,
      description:
        'The name of the Lease that the candidate stands for, in the namespace of the candidate. The Lease need not exist: the coordinator creates it. This field cannot be changed.',
      zero: 'keep',
      isRequired: true,
      maxLength: 253,
    },
    pingTime: {
      type: text,
      description:
        "When the coordinator last asked the candidate for a sign of life, by the candidate's clock, in RFC 3339 with six decimals. The coordinator sets it before elections. A program that finds it later than renewTime sets renewTime to the current time, or to a microsecond after pingTime if its clock is behind that. A candidate that does not answer within 5 seconds cannot be elected.",
      zero: 'keep',
      maxLength: 32,
    },
    priority: {
      type: { kind: 'int32' },
      description:
        'Decides before any version: the candidate with the highest priority is elected, and takes over from a leader with a lower one. Candidates without a priority have 0, so that a negative one stands back behind them. The annotation coordinated-leader-election.dev/priority overrides this field.',
      zero: 'keep',
    },
    renewTime: {
      type: text,
      description:
        'When the candidate last gave a sign of life, by its own clock, in RFC 3339 with six decimals. The program sets it when it creates the candidate, every few minutes from then on, and in answer to a ping. A candidate that has not renewed for 30 minutes takes no part in elections.',
      zero: 'keep',
      maxLength: 32,
    },
    strategy: {
      type: text,
      description:
        'How the leader is chosen among candidates of equal priority. OldestEmulationVersion elects the lowest emulationVersion, then the lowest binaryVersion, then the oldest candidate, then the first name. coordinated-leader-election.dev/NewestVersion elects the highest binaryVersion, then the highest emulationVersion, and has no leader give way to a version. Any other strategy has a domain in its name, such as example.com/nearest. If candidates of a Lease differ, the strategy of the highest binaryVersion counts.',
      zero: 'keep',
      default: OLDEST_EMULATION_VERSION,
      maxLength: 317,
    },
  },
};

/** As the custom resource definition has it, which a test compares it with. */
export const customCandidateSchema: StructSchema = {
  kind: 'struct',
  name: 'LeaseCandidate',
  model: `${MODEL}.LeaseCandidate`,
  description:
    'A LeaseCandidate offers one running program as the leader of a Lease. The coordinator compares all candidates of the Lease in the same namespace, and writes the name of the best one into the Lease as its holderIdentity. A program creates its candidate when it starts, renews it from time to time, answers pings, and deletes it when it stops.',
  isStructural: true,
  fields: {
    apiVersion: {
      type: text,
      description: 'The group and version of this object, coordinated-leader-election.dev/v1alpha1.',
      zero: 'omit',
    },
    kind: { type: text, description: 'The kind of this object, LeaseCandidate.', zero: 'omit' },
    metadata: metadataField,
    spec: {
      type: specSchema,
      description: 'Which Lease the candidate stands for, what speaks for it, and its signs of life.',
      zero: 'keep',
      isRequired: true,
    },
  },
};
