import { type FieldError, invalid } from '../errors/field-error.ts';
import { type ApiObject, metadataField, text, typeFields } from '../schema/api-object.ts';
import { field, struct } from '../schema/schema.ts';
import {
  ageColumn,
  column,
  type ResourceDefinition,
  settled,
  structIn,
  textIn,
  textsIn,
} from './definition.ts';
import {
  dnsLabelName,
  labelKeyProblems,
  standardFinalizerProblems,
  validateStandardFinalizers,
} from './validation.ts';

const MODEL = 'io.k8s.api.core.v1';

/** The label with the namespace's name. Clients can select namespaces by it. */
const NAME_LABEL = 'kubernetes.io/metadata.name';

/** The finalizer that is removed when the namespace is empty. */
const FINALIZER = 'kubernetes';

const conditionSchema = struct(`${MODEL}.NamespaceCondition`, 'A condition of the deletion.', {
  type: field(text, 'fill', 'The type of the condition.', { isRequired: true }),
  status: field(text, 'fill', 'True, False or Unknown.', { isRequired: true }),
  lastTransitionTime: field({ kind: 'time' }, 'fill', 'When that last changed.'),
  reason: field(text, 'omit', 'Why, in one word.'),
  message: field(text, 'omit', 'Why, for people.'),
});

const finalizers = { kind: 'list', items: text, listType: 'atomic' } as const;
const specSchema = struct(`${MODEL}.NamespaceSpec`, 'What holds up the deletion of a namespace.', {
  finalizers: field(finalizers, 'omit', 'The namespace is deleted when this is empty.'),
});

const byType = { listType: 'map', keys: ['type'], patchStrategy: { mergeKey: 'type' } } as const;
const conditions = { kind: 'list', items: conditionSchema, ...byType } as const;
const statusSchema = struct(`${MODEL}.NamespaceStatus`, 'The phase of a namespace.', {
  phase: field(text, 'omit', 'Active, or Terminating while it is being deleted.'),
  conditions: field(conditions, 'omit', 'What is known of its deletion.'),
});

const namespaceSchema = struct(`${MODEL}.Namespace`, 'A Namespace is a scope for names.', {
  ...typeFields,
  metadata: metadataField,
  spec: field(specSchema, 'fill', 'What holds up its deletion.'),
  status: field(statusSchema, 'fill', 'Its phase. Set by the server.'),
});

export const namespaces: ResourceDefinition = {
  group: '',
  resource: 'namespaces',
  singular: 'namespace',
  kind: 'Namespace',
  isNamespaced: false,
  nameProblems: dnsLabelName,
  shortNames: ['ns'],
  storage: 'namespaces',
  createsOnUpdate: false,
  updatesUnconditionally: true,
  resetFields: ['status'],
  prepareForCreate: begin,
  // A plain update does not change the spec or the status.
  prepareForUpdate: (namespace, { spec, status }) => labelled({ ...namespace, spec, status }),
  isHeld: isHeldBySpec,
  validate: (namespace) => [
    ...validateStandardFinalizers(namespace.metadata),
    ...validateFinalizers(namespace),
  ],
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
        column('Status', 'Active or Terminating.', (namespace) =>
          textIn(structIn(namespace, 'status'), 'phase'),
        ),
        ageColumn,
      ],
    },
  ],
};

/** Namespaces, for an update of `namespaces/NAME/finalize`. It can change the finalizers in the spec. */
export const finalizedNamespaces: ResourceDefinition = {
  ...namespaces,
  subresource: 'finalize',
  prepareForUpdate: (namespace, { status }) => labelled({ ...namespace, status }),
  validate: (namespace) => validateFinalizers(namespace, (index) => `spec.finalizers[${index}]`),
};

/** Whether finalizers in the spec block the deletion of a namespace, like those in the metadata. */
export function isHeldBySpec(namespace: ApiObject): boolean {
  return textsIn(structIn(namespace, 'spec'), 'finalizers').length > 0;
}

/** Returns an empty namespace without the finalizer `kubernetes`. Other finalizers may still block its deletion. */
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
  // The server sets the label after it has generated the name.
  if (!name || labels[NAME_LABEL] === name) return namespace;
  const all = { ...labels, [NAME_LABEL]: name };
  return { ...namespace, metadata: { ...namespace.metadata, labels: all } };
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
