import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { badRequest, invalidObject } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Principal } from './access.ts';
import type { Attributes, ResourceRule } from './access-rule.ts';
import { accessReviewSchema, rulesReviewSchema, selfReviewSchema } from './review-schemas.ts';

/** A question about the access of whoever asks, which is put by creating an object that nobody keeps. */
export interface Review {
  readonly group: string;
  readonly version: 'v1';
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly schema: StructSchema;
  /** The answer's fields, but for kind and apiVersion. @throws {ApiError} 400 or 422 */
  answer(principal: Principal, question: JsonObject): JsonObject;
}

const AUTHORIZATION = 'authorization.k8s.io';

/** All that are answered. */
export const reviews: readonly Review[] = [
  {
    group: 'authentication.k8s.io',
    version: 'v1',
    resource: 'selfsubjectreviews',
    singular: 'selfsubjectreview',
    kind: 'SelfSubjectReview',
    schema: selfReviewSchema,
    answer: ({ user: { name: username, uid, groups } }) => ({
      metadata: {},
      status: { userInfo: { username, ...(uid !== undefined && { uid }), groups } },
    }),
  },
  {
    group: AUTHORIZATION,
    version: 'v1',
    resource: 'selfsubjectaccessreviews',
    singular: 'selfsubjectaccessreview',
    kind: 'SelfSubjectAccessReview',
    schema: accessReviewSchema,
    answer: (principal, { spec }) => ({
      metadata: {},
      spec,
      status: { allowed: principal.may(askedAttributes(isJsonObject(spec) ? spec : {})) },
    }),
  },
  {
    group: AUTHORIZATION,
    version: 'v1',
    resource: 'selfsubjectrulesreviews',
    singular: 'selfsubjectrulesreview',
    kind: 'SelfSubjectRulesReview',
    schema: rulesReviewSchema,
    answer: ({ rules }, { spec }) => {
      const { namespace } = isJsonObject(spec) ? spec : {};
      if (typeof namespace !== 'string') throw badRequest('no namespace on request');
      return {
        metadata: {},
        spec: {},
        status: {
          resourceRules: rules.flatMap((rule) =>
            'paths' in rule || !isIn(rule, namespace)
              ? []
              : [{ verbs: rule.verbs, apiGroups: rule.groups, resources: rule.resources }],
          ),
          nonResourceRules: rules.flatMap((rule) =>
            'paths' in rule ? [{ verbs: rule.verbs, nonResourceURLs: rule.paths }] : [],
          ),
          incomplete: false,
        },
      };
    },
  },
];

function isIn({ namespaces }: ResourceRule, namespace: string): boolean {
  return namespaces === undefined || namespaces.includes(namespace) || namespaces.includes('*');
}

function askedAttributes({ resourceAttributes, nonResourceAttributes }: JsonObject): Attributes {
  const refused = (field: string, value: unknown, problem: string) =>
    invalidObject({ group: AUTHORIZATION, name: '' }, '', [invalid(`spec.${field}`, value, problem)]);
  if (isJsonObject(resourceAttributes)) {
    if (nonResourceAttributes !== undefined) {
      const problem = 'cannot be specified in combination with resourceAttributes';
      throw refused('nonResourceAttributes', nonResourceAttributes, problem);
    }
    const { subresource, namespace, name } = resourceAttributes;
    return {
      kind: 'resource',
      verb: text(resourceAttributes['verb']),
      group: text(resourceAttributes['group']),
      resource: text(resourceAttributes['resource']),
      ...(typeof subresource === 'string' && subresource !== '' && { subresource }),
      ...(typeof namespace === 'string' && namespace !== '' && { namespace }),
      ...(typeof name === 'string' && name !== '' && { name }),
    };
  }
  if (isJsonObject(nonResourceAttributes)) {
    const { verb, path } = nonResourceAttributes;
    return { kind: 'path', verb: text(verb), path: text(path) };
  }
  const problem = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  throw refused('resourceAttributes', null, problem);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
