import type { JsonObject } from '../../support/json.ts';
import { reviews } from '../access/reviews.ts';
import { deleteOptionsSchema } from '../operations/delete-options.ts';
import type { ResourceDefinition } from '../resources/definition.ts';
import type { StructSchema } from '../schema/schema.ts';
import { listSchema, patchSchema, statusSchema, watchEventSchema } from './meta-schemas.ts';
import { openApiPaths, type PathSubject, reviewPaths } from './open-api-paths.ts';
import { addModel, type Models } from './open-api-schemas.ts';

/** A document under construction: one version of a group. */
interface Draft {
  readonly paths: Record<string, unknown>;
  readonly models: Models;
}

/** The OpenAPI documents, by the path of what they describe: `apis/coordination.k8s.io/v1`. */
export function openApiDocuments(
  resources: readonly ResourceDefinition[],
  gitVersion: string,
): ReadonlyMap<string, JsonObject> {
  const drafts = new Map<string, Draft>();
  for (const { group, resource, kind, isNamespaced, isCustom, versions } of resources) {
    for (const { version, schema } of versions) {
      const draft = draftOf(drafts, group, version);
      const custom = isCustom && { isCustom };
      const subject = { group, version, resource, kind, isNamespaced, ...custom, model: schema.model };
      Object.assign(draft.paths, openApiPaths(subject));
      addKind(draft, subject, schema);
      const extra = { 'x-kubernetes-group-version-kind': [{ group, version, kind: `${kind}List` }] };
      addModel(draft.models, listSchema(schema), extra);
      addMetaModels(draft, group, version);
    }
  }
  for (const { group, version, resource, kind, schema } of reviews) {
    const draft = draftOf(drafts, group, version);
    const subject = { group, version, resource, kind, isNamespaced: false, model: schema.model };
    Object.assign(draft.paths, reviewPaths(subject));
    addKind(draft, subject, schema);
  }
  const [, release = ''] = /^v(\d+\.\d+)/.exec(gitVersion) ?? [];
  return new Map([...drafts].map(([path, draft]) => [path, document(draft, release)]));
}

function draftOf(drafts: Map<string, Draft>, group: string, version: string): Draft {
  const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
  const draft = drafts.get(path) ?? { paths: {}, models: new Map() };
  drafts.set(path, draft);
  return draft;
}

function addKind({ models }: Draft, { group, version, kind }: PathSubject, schema: StructSchema): void {
  addModel(models, schema, { 'x-kubernetes-group-version-kind': [{ group, version, kind }] });
}

function addMetaModels({ models }: Draft, group: string, version: string): void {
  for (const schema of [statusSchema, watchEventSchema, deleteOptionsSchema]) {
    const kind = schema.name;
    const kinds = [{ group: '', version: 'v1', kind }];
    if (group !== '' && schema !== statusSchema) kinds.push({ group, version, kind });
    addModel(models, schema, { 'x-kubernetes-group-version-kind': kinds });
  }
  addModel(models, patchSchema);
}

function document({ paths, models }: Draft, release: string): JsonObject {
  const sorted = [...models].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    openapi: '3.0.0',
    info: { title: 'Coordination API', version: release },
    paths: Object.fromEntries(Object.entries(paths).toSorted(([one], [other]) => (one < other ? -1 : 1))),
    components: {
      schemas: Object.fromEntries(sorted),
      securitySchemes: {
        BearerToken: {
          type: 'apiKey',
          description: 'A bearer token.',
          name: 'authorization',
          in: 'header',
        },
      },
    },
  };
}
