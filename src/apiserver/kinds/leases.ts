import type { JsonObject } from '../../support/json.ts';
import { type FieldError, forbidden, invalid, notSupported } from '../errors/field-error.ts';
import { type ApiObject, metadataField, text, typeFields } from '../schema/api-object.ts';
import { field, struct } from '../schema/schema.ts';
import {
  ageColumn,
  column,
  numberIn,
  type ResourceDefinition,
  selectableMetadata,
  settled,
  structIn,
  textIn,
} from './definition.ts';
import { dnsSubdomainName, labelKeyProblems } from './validation.ts';

const MODEL = 'io.k8s.api.coordination.v1';
const HUB = 'coordination.k8s.io/v1';

/** The only strategy of Kubernetes itself. The name of any other strategy has a domain: `example.com/strategy`. */
export const OLDEST_EMULATION_VERSION = 'OldestEmulationVersion';

const leaseSpecSchema = struct(`${MODEL}.LeaseSpec`, 'Who holds the Lease, and for how long.', {
  holderIdentity: field(text, 'keep', 'The holder, for example the name of a LeaseCandidate.'),
  leaseDurationSeconds: field({ kind: 'int32' }, 'keep', 'Seconds from renewTime until it expires.'),
  acquireTime: field({ kind: 'microTime' }, 'keep', 'When its holder got it.'),
  renewTime: field({ kind: 'microTime' }, 'keep', 'When its holder last renewed it.'),
  leaseTransitions: field({ kind: 'int32' }, 'keep', 'How often it has passed from one holder to another.'),
  strategy: field(text, 'keep', 'How its holder is elected. Without a strategy there are no elections.'),
  preferredHolder: field(text, 'keep', 'The next holder. Requires a strategy.'),
});

const leaseSchema = struct(`${MODEL}.Lease`, 'A Lease is held by one holder at a time.', {
  ...typeFields,
  metadata: metadataField,
  spec: field(leaseSpecSchema, 'fill', 'Who holds the Lease, and for how long.'),
});

/** The fields of coordinated elections. */
const COORDINATION_FIELDS = ['strategy', 'preferredHolder'] as const;

/** Returns Leases. If elections are not `coordinated`, the server drops the coordination fields. */
export function leases(options: { readonly coordinated: boolean }): ResourceDefinition {
  return {
    group: 'coordination.k8s.io',
    resource: 'leases',
    singular: 'lease',
    kind: 'Lease',
    isNamespaced: true,
    nameProblems: dnsSubdomainName,
    shortNames: [],
    storage: 'leases',
    createsOnUpdate: true,
    updatesUnconditionally: false,
    prepareForCreate: (lease) => (options.coordinated ? lease : withoutCoordination(lease)),
    prepareForUpdate: (lease, old) => (options.coordinated ? lease : withoutCoordination(lease, old)),
    validate: validateSpec,
    versions: [
      {
        version: 'v1',
        schema: leaseSchema,
        toHub: (lease) => settled(leaseSchema, lease, HUB),
        fromHub: (lease) => lease,
        selectableFields: selectableMetadata,
        columns: [
          column('Holder', 'Who holds the Lease.', (lease) =>
            textIn(structIn(lease, 'spec'), 'holderIdentity'),
          ),
          ageColumn,
        ],
      },
    ],
  };
}

/** Drops the coordination fields that the old object does not use. */
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

/** Returns the problems of a strategy. kube-apiserver names the field twice: `spec.strategy.strategy`. */
export function validateStrategy(strategy: string, parent: string): readonly FieldError[] {
  const field = `${parent}.strategy`;
  if (!strategy.includes('/')) {
    const supported = [OLDEST_EMULATION_VERSION];
    return supported.includes(strategy) ? [] : [notSupported(field, strategy, supported)];
  }
  return labelKeyProblems(strategy).map((problem) => invalid(field, strategy, problem));
}
