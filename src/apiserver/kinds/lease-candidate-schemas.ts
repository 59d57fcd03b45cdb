import { metadataField, text, typeFields } from '../schema/object-meta.ts';
import type { FieldSchema, StructSchema } from '../schema/schema.ts';
import { strategySchema } from './leases.ts';

const GROUP_MODEL = 'io.k8s.api.coordination';

const commonFields = {
  leaseName: {
    type: text,
    description: 'The Lease that is stood for. It cannot be changed.',
    zero: 'fill',
    isRequired: true,
  },
  pingTime: {
    type: { kind: 'microTime' },
    description: 'When the candidate was last asked whether it is alive. It answers with a later renewTime.',
    zero: 'keep',
  },
  renewTime: {
    type: { kind: 'microTime' },
    description: 'When the candidate last wrote that it is alive.',
    zero: 'keep',
  },
} as const satisfies Readonly<Record<string, FieldSchema>>;

const binaryVersion: FieldSchema = {
  type: text,
  description: 'The version of the program that is the candidate: a semantic version without a leading v.',
  zero: 'omit',
};

const emulationVersion: FieldSchema = {
  type: text,
  description:
    'The version that the program behaves like: a semantic version without a leading v, not above binaryVersion. Required for OldestEmulationVersion.',
  zero: 'omit',
};

const strategy: FieldSchema = {
  type: strategySchema,
  description:
    'How the leader is to be elected. That of the candidate with the highest binaryVersion counts.',
  zero: 'omit',
  isRequired: true,
};

const preferredStrategies: FieldSchema = {
  type: { kind: 'list', items: strategySchema, listType: 'atomic' },
  description:
    'How the leader is to be elected, the best way first. The lists of all candidates are merged into one order.',
  zero: 'omit',
  isRequired: true,
};

/** Of v1beta1, which v1alpha2 has the same fields as. */
export const v1beta1Schema = candidateSchema('v1beta1', {
  ...commonFields,
  binaryVersion: { ...binaryVersion, zero: 'fill', isRequired: true },
  emulationVersion,
  strategy,
});

export const v1alpha2Schema = candidateSchema('v1alpha2', {
  ...commonFields,
  binaryVersion: { ...binaryVersion, zero: 'fill', isRequired: true },
  emulationVersion,
  strategy,
});

export const v1alpha1Schema = candidateSchema('v1alpha1', {
  ...commonFields,
  binaryVersion,
  emulationVersion,
  preferredStrategies,
});

function candidateSchema(version: string, fields: Readonly<Record<string, FieldSchema>>): StructSchema {
  const spec: StructSchema = {
    kind: 'struct',
    name: 'LeaseCandidateSpec',
    model: `${GROUP_MODEL}.${version}.LeaseCandidateSpec`,
    description: 'What a candidate stands for, and what it is.',
    fields,
  };
  return {
    kind: 'struct',
    name: 'LeaseCandidate',
    model: `${GROUP_MODEL}.${version}.LeaseCandidate`,
    description: 'A LeaseCandidate stands for a Lease: it may be elected to hold it.',
    fields: {
      ...typeFields,
      metadata: metadataField,
      spec: {
        type: spec,
        description: 'What the candidate stands for, and what it is.',
        zero: 'fill',
        ...(version !== 'v1alpha1' && { isRequired: true }),
      },
    },
  };
}
