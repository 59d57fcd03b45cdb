import type { JsonObject } from '../../support/json.ts';
import { type FieldError, forbidden, invalid } from '../errors/field-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { metadataField, text, typeFields } from '../schema/object-meta.ts';
import type { StructSchema } from '../schema/schema.ts';
import { ageColumn } from './age.ts';
import type { ResourceDefinition } from './definition.ts';
import { dnsSubdomainName } from './names.ts';
import { numberIn, selectableMetadata, settled, structIn, textIn } from './object-fields.ts';
import { strategySchema, validateStrategy } from './strategy.ts';
import { type MetadataRules, validateMetadataOf } from './validate-metadata.ts';

const MODEL = 'io.k8s.api.coordination.v1';
const HUB = 'coordination.k8s.io/v1';

const rules: MetadataRules = { isNamespaced: true, nameProblems: dnsSubdomainName };

/** The fields that exist only where elections are coordinated. */
const COORDINATION_FIELDS = ['strategy', 'preferredHolder'] as const;

const leaseSpecSchema: StructSchema = {
  kind: 'struct',
  name: 'LeaseSpec',
  model: `${MODEL}.LeaseSpec`,
  description: 'Who holds the Lease, and for how long.',
  fields: {
    holderIdentity: {
      type: text,
      description:
        'Who holds it; nobody where it is empty. The name of a LeaseCandidate where elections are coordinated.',
      zero: 'keep',
    },
    leaseDurationSeconds: {
      type: { kind: 'int32' },
      description:
        'How long others wait after they have last seen a new renewTime before they take it. Positive.',
      zero: 'keep',
    },
    acquireTime: { type: { kind: 'microTime' }, description: 'When its holder got it.', zero: 'keep' },
    renewTime: { type: { kind: 'microTime' }, description: 'When its holder last renewed it.', zero: 'keep' },
    leaseTransitions: {
      type: { kind: 'int32' },
      description: 'How often it has passed from one holder to another.',
      zero: 'keep',
    },
    strategy: {
      type: strategySchema,
      description: 'How its holder is elected. Nobody elects one where it is absent.',
      zero: 'keep',
    },
    preferredHolder: {
      type: text,
      description: 'Who should hold it: its holder is asked to give it up. Only where there is a strategy.',
      zero: 'keep',
    },
  },
};

const leaseSchema: StructSchema = {
  kind: 'struct',
  name: 'Lease',
  model: `${MODEL}.Lease`,
  description: 'A Lease says who may do something that only one may do at a time, and until when.',
  fields: {
    ...typeFields,
    metadata: metadataField,
    spec: { type: leaseSpecSchema, description: 'Who holds the Lease, and for how long.', zero: 'fill' },
  },
};

/** Leases. Where elections are not `coordinated`, what coordinates them is dropped, as with the feature gate off. */
export function leases(options: { readonly coordinated: boolean }): ResourceDefinition {
  return {
    group: 'coordination.k8s.io',
    resource: 'leases',
    singular: 'lease',
    kind: 'Lease',
    ...rules,
    shortNames: [],
    storage: 'leases',
    createsOnUpdate: true,
    updatesUnconditionally: false,
    prepareForCreate: (lease) => (options.coordinated ? lease : withoutCoordination(lease)),
    prepareForUpdate: (lease, old) => (options.coordinated ? lease : withoutCoordination(lease, old)),
    validate: (lease, old) => [...validateMetadataOf(lease, old, rules), ...validateSpec(lease)],
    versions: [
      {
        version: 'v1',
        schema: leaseSchema,
        toHub: (lease) => settled(leaseSchema, lease, HUB),
        fromHub: (lease) => lease,
        selectableFields: selectableMetadata,
        columns: [
          {
            name: 'Holder',
            type: 'string',
            description: 'Who holds the Lease.',
            priority: 0,
            cell: (lease) => textIn(structIn(lease, 'spec'), 'holderIdentity'),
          },
          ageColumn,
        ],
      },
    ],
  };
}

/** A field that the old object uses may stay in use. */
function withoutCoordination(lease: ApiObject, old?: ApiObject): ApiObject {
  const usedBefore = old === undefined ? {} : structIn(old, 'spec');
  const spec: Record<string, unknown> = { ...structIn(lease, 'spec') };
  for (const field of COORDINATION_FIELDS) {
    if (usedBefore[field] === undefined) delete spec[field];
  }
  return { ...lease, spec };
}

function validateSpec(lease: ApiObject): readonly FieldError[] {
  const spec: JsonObject = structIn(lease, 'spec');
  const problems: FieldError[] = [];
  const duration = numberIn(spec, 'leaseDurationSeconds');
  if (duration !== undefined && duration <= 0) {
    problems.push(invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  }
  const transitions = numberIn(spec, 'leaseTransitions');
  if (transitions !== undefined && transitions < 0) {
    problems.push(invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  if (spec['strategy'] !== undefined) {
    problems.push(...validateStrategy(textIn(spec, 'strategy'), 'spec.strategy'));
  }
  if (textIn(spec, 'preferredHolder') !== '' && textIn(spec, 'strategy') === '') {
    problems.push(forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined'));
  }
  return problems;
}
