import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import type { JsonObject } from '../../support/json.ts';
import { invalid } from '../errors/field-error.ts';
import { type ApiObject, metadataField, text } from '../schema/api-object.ts';
import type { FieldSchema, StructSchema } from '../schema/schema.ts';
import { compileRules, type RuledProperty, validateStructure, withRules } from './custom-validation.ts';
import {
  type ColumnDefinition,
  type ResourceDefinition,
  selectableMetadata,
  settled,
  structIn,
  textIn,
  timeSince,
  type VersionDefinition,
} from './definition.ts';
import { dnsSubdomainName, type MetadataRules, validateMetadataOf } from './validation.ts';

/** The part of a custom resource definition that this server uses. */
export interface CustomDefinition {
  readonly group: string;
  readonly names: {
    readonly kind: string;
    readonly plural: string;
    readonly singular: string;
    readonly shortNames: readonly string[];
    readonly categories: readonly string[];
  };
  readonly versions: readonly [CustomVersion];
}

export interface CustomVersion {
  readonly name: string;
  readonly selectableFields: readonly { readonly jsonPath: string }[];
  readonly additionalPrinterColumns: readonly {
    readonly name: string;
    readonly type: ColumnDefinition['type'];
    readonly description: string;
    readonly jsonPath: string;
  }[];
  readonly schema: { readonly openAPIV3Schema: Property };
}

/** A property in the schema of a custom resource definition. */
export interface Property extends RuledProperty {
  readonly type: 'object' | 'string' | 'integer';
  readonly description: string;
  readonly default?: string;
  readonly maxLength?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Property>>;
}

const DEFINITION_FILE = new URL('../../../deploy/crd.yaml', import.meta.url);
const metadataRules: MetadataRules = { isNamespaced: true, nameProblems: dnsSubdomainName };

/** Returns the LeaseCandidates of this project's own group, as deploy/crd.yaml defines them. */
export function customCandidates(): ResourceDefinition {
  const { spec } = parse(readFileSync(DEFINITION_FILE, 'utf8')) as { readonly spec: CustomDefinition };
  return customResource(spec);
}

/** Makes a resource from a custom resource definition with one version. */
export function customResource({ group, names, versions: [served] }: CustomDefinition): ResourceDefinition {
  const { kind, plural, singular, shortNames, categories } = names;
  const root = served.schema.openAPIV3Schema;
  const schema = rootSchema(group, kind, served);
  const rules = compileRules(root);
  return {
    group,
    resource: plural,
    singular,
    kind,
    shortNames,
    categories,
    ...metadataRules,
    isCustom: true,
    storage: `${plural}.${group}`,
    createsOnUpdate: false,
    updatesUnconditionally: false,
    prepareForCreate: (object) => withGeneration(object, 1),
    prepareForUpdate: (object, old) => {
      const { generation = 1 } = old.metadata;
      const isSame = isDeepStrictEqual(object['spec'], old['spec']);
      return withGeneration(object, isSame ? generation : generation + 1);
    },
    validate: (object, old) => {
      const problems = [
        ...(object.kind === kind ? [] : [invalid('kind', object.kind, `must be ${kind}`)]),
        ...validateMetadataOf(object, old, metadataRules),
        ...validateStructure(schema, object),
      ];
      return withRules(problems, () => rules(object, old));
    },
    versions: [servedVersion(group, schema, served)],
  };
}

function servedVersion(group: string, schema: StructSchema, served: CustomVersion): VersionDefinition {
  const { name: version, selectableFields, additionalPrinterColumns } = served;
  return {
    version,
    schema,
    toHub: (object) => settled(schema, object, `${group}/${version}`),
    fromHub: (object) => object,
    selectableFields: (object) => ({
      ...selectableMetadata(object),
      ...Object.fromEntries(
        selectableFields.map(({ jsonPath }) => {
          const [path, field] = stepsOf(jsonPath);
          return [jsonPath.slice(1), textIn(structAt(object, path), field)];
        }),
      ),
    }),
    columns: additionalPrinterColumns.map(({ name, type, description, jsonPath }) => {
      const [path, field] = stepsOf(jsonPath);
      return {
        ...{ name, type, description, priority: 0 },
        cell: (object, nowSeconds) => {
          const value = structAt(object, path)[field];
          if (typeof value !== 'string' && typeof value !== 'number') return null;
          return type === 'date' ? timeSince(value, nowSeconds) : value;
        },
      };
    }),
  };
}

/** Splits the path of a field: `.spec.leaseName` becomes [`spec`] and `leaseName`. */
function stepsOf(jsonPath: string): readonly [path: readonly string[], field: string] {
  const steps = jsonPath.split('.').slice(1);
  return [steps.slice(0, -1), steps.at(-1) ?? ''];
}

function structAt(object: JsonObject, path: readonly string[]): JsonObject {
  return path.reduce<JsonObject>(structIn, object);
}

/** Sets the generation, which increases with each change of the spec, as for every custom resource. */
function withGeneration(object: ApiObject, generation: number): ApiObject {
  return { ...object, metadata: { ...object.metadata, generation } };
}

function rootSchema(group: string, kind: string, { name, schema }: CustomVersion): StructSchema {
  const model = [...group.split('.').reverse(), name, kind].join('.');
  const { fields, ...root } = structSchema(schema.openAPIV3Schema, kind, model);
  const { apiVersion, kind: ofKind, ...others } = fields;
  // apiVersion, kind and metadata have the same schema as in every object.
  return {
    ...root,
    fields: {
      ...(apiVersion && { apiVersion: { ...apiVersion, zero: 'omit' } }),
      ...(ofKind && { kind: { ...ofKind, zero: 'omit' } }),
      metadata: metadataField,
      ...others,
    },
  };
}

function structSchema(property: Property, name: string, model: string): StructSchema {
  const { description, properties = {}, required = [] } = property;
  // The API server writes the fields of custom resources in alphabetical order.
  const names = Object.keys(properties).sort();
  const fields = names.flatMap((each) => {
    const child = properties[each];
    return child === undefined
      ? []
      : [[each, fieldSchema(child, each, model, required.includes(each))] as const];
  });
  return { kind: 'struct', name, model, description, isStructural: true, fields: Object.fromEntries(fields) };
}

function fieldSchema(property: Property, name: string, model: string, isRequired: boolean): FieldSchema {
  const suffix = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const { type, description, default: fallback, maxLength } = property;
  return {
    type:
      type === 'object'
        ? structSchema(property, `${model.split('.').at(-1)}${suffix}`, `${model}${suffix}`)
        : type === 'integer'
          ? { kind: 'int32' }
          : text,
    description,
    zero: 'keep',
    ...(isRequired && { isRequired: true }),
    ...(fallback !== undefined && { default: fallback }),
    ...(maxLength !== undefined && { maxLength }),
  };
}
