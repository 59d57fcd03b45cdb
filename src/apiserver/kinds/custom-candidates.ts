import { isDeepStrictEqual } from 'node:util';
import { CUSTOM_API_VERSION } from '../../coordination/candidate-sources.ts';
import { type FieldError, invalid } from '../errors/field-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { customCandidateProblems } from './custom-candidate-rules.ts';
import { customCandidateSchema } from './custom-candidate-schema.ts';
import { ageColumn, type ColumnDefinition, type ResourceDefinition } from './definition.ts';
import { candidateNames } from './lease-candidates.ts';
import { dnsSubdomainName } from './names.ts';
import { selectableMetadata, settled, structIn, textIn } from './object-fields.ts';
import { validateStructure, withRules } from './structural-validation.ts';
import { type MetadataRules, validateMetadataOf } from './validation.ts';

const [GROUP = '', VERSION = ''] = CUSTOM_API_VERSION.split('/');

const rules: MetadataRules = { isNamespaced: true, nameProblems: dnsSubdomainName };

/** LeaseCandidates of this project's own group, as a server has them on which its custom resource definition is installed. */
export const customCandidates: ResourceDefinition = {
  group: GROUP,
  ...candidateNames,
  ...rules,
  shortNames: ['lcand'],
  categories: ['leader-election'],
  isCustom: true,
  storage: `${candidateNames.resource}.${GROUP}`,
  createsOnUpdate: false,
  updatesUnconditionally: false,
  prepareForCreate: (candidate) => withGeneration(candidate, 1),
  prepareForUpdate: (candidate, old) => {
    const { generation = 1 } = old.metadata;
    const isSame = isDeepStrictEqual(candidate['spec'], old['spec']);
    return withGeneration(candidate, isSame ? generation : generation + 1);
  },
  validate,
  versions: [
    {
      version: VERSION,
      schema: customCandidateSchema,
      toHub: (candidate) => settled(customCandidateSchema, candidate, CUSTOM_API_VERSION),
      fromHub: (candidate) => candidate,
      selectableFields: (candidate) => ({
        ...selectableMetadata(candidate),
        'spec.leaseName': textIn(structIn(candidate, 'spec'), 'leaseName'),
      }),
      columns: [
        column('LeaseName', 'leaseName', 'string', 'The Lease that the candidate stands for.'),
        column('BinaryVersion', 'binaryVersion', 'string', "The version of the candidate's program."),
        column(
          'EmulationVersion',
          'emulationVersion',
          'string',
          'The version that the program behaves like; none means its binary version.',
        ),
        column('Priority', 'priority', 'integer', 'Higher leads first; none means 0.'),
        {
          ...ageColumn,
          type: 'date',
          description: 'How long ago the candidate was created.',
          cell: (candidate, nowSeconds) =>
            candidate.metadata.creationTimestamp === undefined ? null : ageColumn.cell(candidate, nowSeconds),
        },
      ],
    },
  ],
};

/** Counts the states of the spec, as Kubernetes does for custom resources. */
function withGeneration(candidate: ApiObject, generation: number): ApiObject {
  return { ...candidate, metadata: { ...candidate.metadata, generation } };
}

function validate(candidate: ApiObject, old?: ApiObject): readonly FieldError[] {
  const { kind } = candidateNames;
  const problems = [
    ...(candidate.kind === kind ? [] : [invalid('kind', candidate.kind, `must be ${kind}`)]),
    ...validateMetadataOf(candidate, old, rules),
    ...validateStructure(customCandidateSchema, candidate),
  ];
  return withRules(problems, () =>
    customCandidateProblems(structIn(candidate, 'spec'), old && structIn(old, 'spec')),
  );
}

function column(
  name: string,
  field: string,
  type: ColumnDefinition['type'],
  description: string,
): ColumnDefinition {
  const cell: ColumnDefinition['cell'] = (candidate) => {
    const value = structIn(candidate, 'spec')[field];
    return typeof value === 'string' || typeof value === 'number' ? value : null;
  };
  return { name, type, description, priority: 0, cell };
}
