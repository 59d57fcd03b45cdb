import type { JsonSchema } from './json-schema.ts';

const text: JsonSchema = { type: 'string' };
const flag: JsonSchema = { type: 'boolean' };
const whole: JsonSchema = { type: 'integer', minimum: 0, maximum: 2_147_483_647 };
const positive: JsonSchema = { ...whole, minimum: 1 };
const labelValue: JsonSchema = {
  type: 'string',
  pattern: '^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$',
};
const part = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';
const qualifiedName: JsonSchema = {
  type: 'string',
  pattern: `^(${part}([.]${part})*/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`,
  maxLength: 317,
};
const label: JsonSchema = { type: 'string', pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' };
const subdomain: JsonSchema = { type: 'string', pattern: `^${part}([.]${part})*$`, maxLength: 253 };
const dataKey: JsonSchema = { type: 'string', pattern: '^[A-Za-z0-9._-]+$', maxLength: 253 };
const quantity: JsonSchema = {
  anyOf: [
    { type: 'number', minimum: 0 },
    { type: 'string', pattern: '^[0-9]+([.][0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$' },
  ],
};
const registry = `(\\[[A-Fa-f0-9:]+\\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]+)?`;
const pathPart = '[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*';
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

/** Types of Kubernetes, which the API server checks. Tests try the examples. */
function kubernetes(...examples: readonly unknown[]): JsonSchema {
  return { type: 'object', additionalProperties: true, examples };
}

const addressRange: JsonSchema = { type: 'string', examples: ['10.0.0.0/8', 'fd00::/8'] };
const labelSelector = kubernetes({ matchLabels: { app: 'web' } });
const fieldRef = object(
  {
    apiVersion: { const: 'v1' },
    fieldPath: {
      type: 'string',
      pattern: `^(${[
        'metadata[.](name|namespace|uid)',
        "metadata[.](labels|annotations)\\['[^']+'\\]",
        'spec[.](nodeName|serviceAccountName)',
        'status[.](podIPs?|hostIPs?)',
      ].join('|')})$`,
    },
  },
  'fieldPath',
);
const resourceFieldRef = object(
  {
    containerName: label,
    resource: { type: 'string', pattern: '^(limits|requests)[.](cpu|memory|ephemeral-storage)$' },
    divisor: quantity,
  },
  'resource',
);
const keyRef = object({ name: subdomain, key: dataKey, optional: flag }, 'name', 'key');
const taint: Readonly<Record<string, JsonSchema>> = {
  key: qualifiedName,
  effect: { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
};
const files = list(object({ key: dataKey, path: text, mode }, 'key', 'path'));

/** The types of values that Kubernetes defines: `$defs` of the chart's schema. */
export const kubernetesDefinitions: Readonly<Record<string, JsonSchema>> = {
  name: label,
  optionalName: { type: 'string', pattern: '^([a-z]([a-z0-9-]{0,51}[a-z0-9])?)?$' },
  optionalObjectName: { type: 'string', pattern: `^(${part}([.]${part})*)?$`, maxLength: 253 },
  stringMap: { type: 'object', propertyNames: qualifiedName, additionalProperties: text },
  labels: { type: 'object', propertyNames: qualifiedName, additionalProperties: labelValue },
  imageName: { type: 'string', pattern: `^(${registry}/)?${pathPart}(/${pathPart})*$` },
  localObjectReference: object({ name: subdomain }, 'name'),
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
    additionalProperties: quantity,
  },
  envVar: {
    anyOf: [
      object({ name: { $ref: '#/$defs/envName' }, value: text }, 'name'),
      object(
        {
          name: { $ref: '#/$defs/envName' },
          valueFrom: {
            anyOf: [
              object({ fieldRef }, 'fieldRef'),
              object({ resourceFieldRef }, 'resourceFieldRef'),
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
  envName: { type: 'string', pattern: '^[A-Za-z._-][A-Za-z0-9._-]*$' },
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
      object(
        {
          ...taint,
          operator: { const: 'Equal' },
          value: labelValue,
          effect: { const: 'NoExecute' },
          tolerationSeconds: whole,
        },
        'key',
        'effect',
      ),
    ],
  },
  topologySpreadConstraint: object(
    {
      maxSkew: positive,
      minDomains: positive,
      topologyKey: qualifiedName,
      whenUnsatisfiable: { enum: ['DoNotSchedule', 'ScheduleAnyway'] },
      labelSelector,
      matchLabelKeys: { type: 'array', items: qualifiedName, uniqueItems: true },
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
      object(
        { name: label, emptyDir: object({ medium: { enum: ['', 'Memory'] }, sizeLimit: quantity }) },
        'name',
        'emptyDir',
      ),
      object(
        {
          name: label,
          configMap: object({ name: subdomain, optional: flag, defaultMode: mode, items: files }, 'name'),
        },
        'name',
        'configMap',
      ),
      object(
        {
          name: label,
          secret: object(
            { secretName: subdomain, optional: flag, defaultMode: mode, items: files },
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
      object({ name: label, downwardAPI: kubernetes({}) }, 'name', 'downwardAPI'),
      object({ name: label, ephemeral: kubernetes({}) }, 'name', 'ephemeral'),
      object({ name: label, persistentVolumeClaim: kubernetes({}) }, 'name', 'persistentVolumeClaim'),
    ],
  },
  volumeMount: object(
    {
      name: label,
      mountPath: { type: 'string', pattern: '^/[^:]*$' },
      subPath: text,
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
