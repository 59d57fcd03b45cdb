import { type FieldError, invalid } from '../errors/field-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { metadataField, text, typeFields } from '../schema/object-meta.ts';
import type { StructSchema } from '../schema/schema.ts';
import { ageColumn } from './age.ts';
import type { ResourceDefinition } from './definition.ts';
import { dnsLabelName, labelKeyProblems } from './names.ts';
import { settled, structIn, textIn, textsIn } from './object-fields.ts';
import {
  type MetadataRules,
  standardFinalizerProblems,
  validateMetadata,
  validateMetadataOf,
  validateMetadataUpdate,
  validateStandardFinalizers,
} from './validate-metadata.ts';

const MODEL = 'io.k8s.api.core.v1';

const rules: MetadataRules = { isNamespaced: false, nameProblems: dnsLabelName };

/** The label that has the namespace's name, so that namespaces can be selected by it. */
const NAME_LABEL = 'kubernetes.io/metadata.name';

/** The finalizer of whoever empties a namespace that is being deleted. */
const FINALIZER = 'kubernetes';

const conditionSchema: StructSchema = {
  kind: 'struct',
  name: 'NamespaceCondition',
  model: `${MODEL}.NamespaceCondition`,
  description: 'One thing that is known of the deletion of a namespace.',
  fields: {
    type: {
      type: { kind: 'string', goType: 'v1.NamespaceConditionType' },
      description: 'What is told.',
      zero: 'fill',
      isRequired: true,
    },
    status: {
      type: { kind: 'string', goType: 'v1.ConditionStatus' },
      description: 'Whether it is so: True, False or Unknown.',
      zero: 'fill',
      isRequired: true,
    },
    lastTransitionTime: { type: { kind: 'time' }, description: 'When that last changed.', zero: 'fill' },
    reason: { type: text, description: 'Why, in one word.', zero: 'omit' },
    message: { type: text, description: 'Why, for people.', zero: 'omit' },
  },
};

const specSchema: StructSchema = {
  kind: 'struct',
  name: 'NamespaceSpec',
  model: `${MODEL}.NamespaceSpec`,
  description: 'What has yet to be done before a namespace goes.',
  fields: {
    finalizers: {
      type: { kind: 'list', items: { kind: 'string', goType: 'v1.FinalizerName' }, listType: 'atomic' },
      description: 'Who has yet to remove things from the namespace when it is deleted.',
      zero: 'omit',
    },
  },
};

const statusSchema: StructSchema = {
  kind: 'struct',
  name: 'NamespaceStatus',
  model: `${MODEL}.NamespaceStatus`,
  description: 'How far the life of a namespace has got.',
  fields: {
    phase: {
      type: { kind: 'string', goType: 'v1.NamespacePhase' },
      description: 'Active, or Terminating while it is being deleted.',
      zero: 'omit',
    },
    conditions: {
      type: {
        kind: 'list',
        items: conditionSchema,
        listType: 'map',
        keys: ['type'],
        patchStrategy: { mergeKey: 'type' },
      },
      description: 'What is known of its deletion.',
      zero: 'omit',
    },
  },
};

const namespaceSchema: StructSchema = {
  kind: 'struct',
  name: 'Namespace',
  model: `${MODEL}.Namespace`,
  description: 'A Namespace is a scope for the names of other objects.',
  fields: {
    ...typeFields,
    metadata: metadataField,
    spec: { type: specSchema, description: 'What has to be done before it goes.', zero: 'fill' },
    status: { type: statusSchema, description: 'How far its life has got. Set by the server.', zero: 'fill' },
  },
};

export const namespaces: ResourceDefinition = {
  group: '',
  resource: 'namespaces',
  singular: 'namespace',
  kind: 'Namespace',
  ...rules,
  shortNames: ['ns'],
  storage: 'namespaces',
  createsOnUpdate: false,
  updatesUnconditionally: true,
  resetFields: ['status'],
  prepareForCreate: begin,
  // A plain update changes neither.
  prepareForUpdate: (namespace, { spec, status }) => labelled({ ...namespace, spec, status }),
  isHeld: isHeldBySpec,
  validate: validateNamespace,
  versions: [
    {
      version: 'v1',
      schema: namespaceSchema,
      toHub: (namespace) => labelled(settled(namespaceSchema, namespace, 'v1')),
      fromHub: (namespace) => namespace,
      selectableFields: (namespace) => ({
        'metadata.name': namespace.metadata.name,
        'status.phase': textIn(structIn(namespace, 'status'), 'phase'),
      }),
      columns: [
        {
          name: 'Status',
          type: 'string',
          description: 'Active or Terminating.',
          priority: 0,
          cell: (namespace) => textIn(structIn(namespace, 'status'), 'phase'),
        },
        ageColumn,
      ],
    },
  ],
};

/** Namespaces as `namespaces/NAME/finalize` updates them: their spec, too. That frees those that a finalizer of it holds. */
export const finalizedNamespaces: ResourceDefinition = {
  ...namespaces,
  subresource: 'finalize',
  prepareForUpdate: (namespace, { status }) => labelled({ ...namespace, status }),
  validate: (namespace, old) => [
    ...validateMetadataOf(namespace, old, rules),
    ...validateFinalizers(namespace, (index) => `spec.finalizers[${index}]`),
  ],
};

/** Whether something in its spec holds up the deletion of a namespace, as finalizers of the metadata do. */
export function isHeldBySpec(namespace: ApiObject): boolean {
  return textsIn(structIn(namespace, 'spec'), 'finalizers').length > 0;
}

/** The namespace once everything in it has gone: others may hold it still. */
export function emptied(namespace: ApiObject): ApiObject {
  const { finalizers: _, ...spec } = structIn(namespace, 'spec');
  const finalizers = textsIn(structIn(namespace, 'spec'), 'finalizers');
  const left = finalizers.filter((each) => each !== FINALIZER);
  if (left.length === finalizers.length) return namespace;
  return { ...namespace, spec: left.length === 0 ? spec : { ...spec, finalizers: left } };
}

function begin(namespace: ApiObject): ApiObject {
  const given = textsIn(structIn(namespace, 'spec'), 'finalizers');
  const finalizers = given.includes(FINALIZER) ? given : [...given, FINALIZER];
  return labelled({ ...namespace, spec: { finalizers }, status: { phase: 'Active' } });
}

function labelled(namespace: ApiObject): ApiObject {
  const { name, labels = {} } = namespace.metadata;
  // Nothing is to be told by the label of a namespace whose name is yet to be generated.
  if (!name || labels[NAME_LABEL] === name) return namespace;
  const all = Object.entries({ ...labels, [NAME_LABEL]: name }).sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  return settled(namespaceSchema, withLabels(namespace, Object.fromEntries(all)), 'v1');
}

function withLabels(namespace: ApiObject, labels: Readonly<Record<string, string>>): ApiObject {
  return { ...namespace, metadata: { ...namespace.metadata, labels } };
}

/** An update is checked as if it were new, too. */
function validateNamespace(namespace: ApiObject, old?: ApiObject): readonly FieldError[] {
  const { metadata } = namespace;
  const anew = [
    ...validateMetadata(metadata, rules),
    ...validateStandardFinalizers(metadata),
    ...validateFinalizers(namespace),
  ];
  if (old === undefined) return anew;
  return [
    ...anew,
    ...validateMetadataUpdate(metadata, old.metadata),
    ...validateStandardFinalizers(metadata),
  ];
}

function validateFinalizers(
  namespace: ApiObject,
  fieldAt: (index: number) => string = () => 'spec.finalizers',
): readonly FieldError[] {
  return textsIn(structIn(namespace, 'spec'), 'finalizers').flatMap((finalizer, index) =>
    [...labelKeyProblems(finalizer), ...standardFinalizerProblems(finalizer)].map((problem) =>
      invalid(fieldAt(index), finalizer, problem),
    ),
  );
}
