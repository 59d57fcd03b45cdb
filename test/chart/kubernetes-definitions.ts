import type { JsonSchema } from './json-schema.ts';

const text: JsonSchema = { type: 'string' };
const flag: JsonSchema = { type: 'boolean' };
const whole: JsonSchema = { type: 'integer', minimum: 0, maximum: 2_147_483_647 };
const positive: JsonSchema = { ...whole, minimum: 1 };
const labelValue: JsonSchema = {
  type: 'string',
  pattern: '^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$',
};
const part = '[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?';
const qualifiedName = `^(${part}([.]${part}){0,4}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`;
const label: JsonSchema = { type: 'string', pattern: '^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$' };
const mode: JsonSchema = { type: 'integer', minimum: 0, maximum: 511 };

function object(
  properties: Readonly<Record<string, JsonSchema>>,
  ...required: readonly string[]
): JsonSchema {
  return {
    type: 'object',
    additionalProperties: false,
    properties,
    ...(required.length > 0 && { required }),
  };
}

function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

/** Fields of Kubernetes' own, which the API server checks; the examples are what tests try. */
function kubernetes(...examples: readonly unknown[]): JsonSchema {
  return { type: 'object', additionalProperties: true, examples };
}

const addressRange: JsonSchema = { type: 'string', examples: ['10.0.0.0/8', 'fd00::/8'] };
const labelSelector = kubernetes({ matchLabels: { app: 'web' } });
const fieldRef = object(
  {
    apiVersion: { const: 'v1' },
    fieldPath: {
      enum: [
        'metadata.name',
        'metadata.namespace',
        'metadata.uid',
        'spec.nodeName',
        'spec.serviceAccountName',
        'status.podIP',
        'status.hostIP',
      ],
    },
  },
  'fieldPath',
);
const keyRef = object(
  { name: label, key: { type: 'string', pattern: '^[a-z][a-z0-9._-]{0,62}$' }, optional: flag },
  'name',
  'key',
);
const taint: Readonly<Record<string, JsonSchema>> = {
  key: { type: 'string', pattern: qualifiedName },
  effect: { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
};
const files = list(object({ key: label, path: label, mode }, 'key', 'path'));

/** What values of the chart are that Kubernetes has names for; `$defs` of the chart's schema. */
export const kubernetesDefinitions: Readonly<Record<string, JsonSchema>> = {
  name: label,
  optionalName: { type: 'string', pattern: '^([a-z]([a-z0-9-]{0,51}[a-z0-9])?)?$' },
  stringMap: { type: 'object', propertyNames: { pattern: qualifiedName }, additionalProperties: text },
  labels: { type: 'object', propertyNames: { pattern: qualifiedName }, additionalProperties: labelValue },
  localObjectReference: object({ name: label }, 'name'),
  countOrPercentage: {
    anyOf: [
      { type: 'integer', minimum: 0, maximum: 9 },
      { type: 'string', pattern: '^([0-9]|[1-9][0-9]|100)%$' },
    ],
  },
  positiveCountOrPercentage: {
    anyOf: [
      { type: 'integer', minimum: 1, maximum: 9 },
      { type: 'string', pattern: '^([1-9]|[1-9][0-9]|100)%$' },
    ],
  },
  optionalPrometheusDuration: { type: 'string', pattern: '^([1-9][0-9]{0,3}(ms|s|m|h))?$' },
  quantities: {
    type: 'object',
    propertyNames: { enum: ['cpu', 'memory', 'ephemeral-storage'] },
    additionalProperties: { type: 'string', pattern: '^[1-9][0-9]{0,4}(m|Ki|Mi|Gi)?$' },
  },
  envVar: {
    anyOf: [
      object({ name: { $ref: '#/$defs/envName' }, value: text }, 'name', 'value'),
      object(
        {
          name: { $ref: '#/$defs/envName' },
          valueFrom: {
            anyOf: [
              object({ fieldRef }, 'fieldRef'),
              object({ secretKeyRef: keyRef }, 'secretKeyRef'),
              object({ configMapKeyRef: keyRef }, 'configMapKeyRef'),
            ],
          },
        },
        'name',
        'valueFrom',
      ),
    ],
  },
  envName: { type: 'string', pattern: '^[A-Z][A-Z0-9_]{0,62}$' },
  probe: object(
    {
      httpGet: object({ path: { enum: ['/livez', '/readyz'] }, port: { const: 'http' } }, 'path', 'port'),
      initialDelaySeconds: whole,
      periodSeconds: positive,
      timeoutSeconds: positive,
      failureThreshold: positive,
    },
    'httpGet',
  ),
  toleration: {
    anyOf: [
      object({ ...taint, operator: { const: 'Exists' } }, 'operator'),
      object({ ...taint, operator: { const: 'Equal' }, value: labelValue }, 'key'),
      object(
        { ...taint, operator: { const: 'Exists' }, effect: { const: 'NoExecute' }, tolerationSeconds: whole },
        'operator',
        'effect',
      ),
    ],
  },
  topologySpreadConstraint: object(
    {
      maxSkew: positive,
      topologyKey: { type: 'string', pattern: qualifiedName },
      whenUnsatisfiable: { enum: ['DoNotSchedule', 'ScheduleAnyway'] },
      labelSelector,
      matchLabelKeys: { type: 'array', items: { type: 'string', pattern: qualifiedName }, uniqueItems: true },
      nodeAffinityPolicy: { enum: ['Honor', 'Ignore'] },
      nodeTaintsPolicy: { enum: ['Honor', 'Ignore'] },
    },
    'maxSkew',
    'topologyKey',
    'whenUnsatisfiable',
  ),
  affinity: object({
    nodeAffinity: kubernetes({
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] },
        ],
      },
    }),
    podAffinity: kubernetes({}),
    podAntiAffinity: kubernetes({
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'web' } } },
      ],
    }),
  }),
  volume: {
    anyOf: [
      object({ name: label, emptyDir: object({ medium: { enum: ['', 'Memory'] } }) }, 'name', 'emptyDir'),
      object(
        {
          name: label,
          configMap: object({ name: label, optional: flag, defaultMode: mode, items: files }, 'name'),
        },
        'name',
        'configMap',
      ),
      object(
        {
          name: label,
          secret: object(
            { secretName: label, optional: flag, defaultMode: mode, items: files },
            'secretName',
          ),
        },
        'name',
        'secret',
      ),
      object(
        { name: label, csi: kubernetes({ driver: 'secrets-store.csi.k8s.io', readOnly: true }) },
        'name',
        'csi',
      ),
      object(
        { name: label, projected: kubernetes({ sources: [{ configMap: { name: 'ca' } }] }) },
        'name',
        'projected',
      ),
    ],
  },
  volumeMount: object(
    {
      name: label,
      mountPath: { type: 'string', pattern: '^(/[a-z0-9]{1,12}){1,4}$' },
      subPath: { type: 'string', pattern: '^[a-z0-9]{1,12}$' },
      readOnly: flag,
    },
    'name',
    'mountPath',
  ),
  networkPolicyPeer: {
    anyOf: [
      object({ namespaceSelector: labelSelector, podSelector: labelSelector }, 'namespaceSelector'),
      object({ podSelector: labelSelector }, 'podSelector'),
      object({ ipBlock: object({ cidr: addressRange, except: list(addressRange) }, 'cidr') }, 'ipBlock'),
    ],
  },
};
