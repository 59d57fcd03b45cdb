import type { ApiObject } from '../../../src/apiserver/schema/api-object.ts';

/** A small object; `value` distinguishes its states. */
export function makeObject(
  name: string,
  fields: {
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly value?: unknown;
  } = {},
): ApiObject {
  const { namespace, labels, value } = fields;
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, ...(namespace !== undefined && { namespace }), ...(labels && { labels }) },
    spec: { value },
  };
}
