import { isMap, isScalar, type Pair, parse, parseDocument, type YAMLMap } from 'yaml';
import type { JsonSchema } from './json-schema.ts';
import { kubernetesDefinitions } from './kubernetes-definitions.ts';

/** A key of values.yaml, with its comment. */
interface DocumentedValue {
  readonly name: string;
  readonly description: string;
  /** The parts of the schema that the comment adds to those that follow from the default. */
  readonly annotation: JsonSchema;
  readonly default: unknown;
  /** Undefined for a value of a Kubernetes type. */
  readonly children: readonly DocumentedValue[] | undefined;
}

/**
 * Reads values.yaml with its comments.
 * @throws Error with the key whose comment is missing or incomplete
 */
export function documentedValues(text: string): readonly DocumentedValue[] {
  const document = parseDocument(text);
  if (!isMap(document.contents)) throw new Error('values.yaml is no map');
  return valuesIn(document.contents, text.split('\n'), text, '');
}

function valuesIn(
  map: YAMLMap,
  lines: readonly string[],
  text: string,
  path: string,
): readonly DocumentedValue[] {
  return map.items.map((pair) => {
    const { name, line } = keyOf(pair, text);
    const where = path === '' ? name : `${path}.${name}`;
    const { description, annotation } = commentAbove(line, lines);
    const value = pair.value;
    const isWhole = annotation.$ref !== undefined || annotation.properties !== undefined || !isMap(value);
    if (description === '' && annotation.const === undefined && path === '' && isWhole) {
      throw new Error(`values.yaml: ${where} has no comment`);
    }
    return {
      name,
      description,
      annotation,
      default: isMap(value) || !isScalar(value) ? (pair.value as YAMLMap).toJSON() : value.value,
      children: isWhole || !isMap(value) ? undefined : valuesIn(value, lines, text, where),
    };
  });
}

function keyOf({ key }: Pair, text: string): { readonly name: string; readonly line: number } {
  if (!isScalar(key) || !key.range) throw new Error('values.yaml: a key that is no text');
  return { name: String(key.value), line: text.slice(0, key.range[0]).split('\n').length - 1 };
}

function commentAbove(keyLine: number, lines: readonly string[]) {
  const comment: string[] = [];
  for (let at = keyLine - 1; lines[at]?.trim().startsWith('#'); at -= 1) {
    comment.unshift((lines[at] ?? '').trim().replace(/^# ?/, ''));
  }
  const [prose, annotations] = [false, true].map((isAnnotation) =>
    comment.filter((each) => each.startsWith('@schema ') === isAnnotation),
  );
  const annotation: JsonSchema = Object.assign(
    {},
    ...(annotations ?? []).map((each) => parse(each.slice('@schema '.length))),
  );
  return { description: (prose ?? []).join(' ').trim(), annotation };
}

/** Returns the chart's values.schema.json, formatted as the formatter does. */
export function valuesSchema(text: string): string {
  const { properties, required = [] } = objectOf(documentedValues(text));
  const schema: JsonSchema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Values of the chart coordinated-leader-election',
    type: 'object',
    additionalProperties: false,
    properties: { ...properties, ...valuesOfParents },
    required,
    $defs: kubernetesDefinitions,
  };
  return `${JSON.stringify(schema, undefined, 2).replaceAll(shortList, onOneLine)}\n`;
}

/** An array of only texts, numbers and empty objects, with the text before it on its line. */
const shortList = /^.*\[\n(?:\s+(?:"[^"\n]*"|[\d.-]+|\{\}),?\n)+\s+\],?$/gm;

function onOneLine(list: string): string {
  const line = list
    .replace(/\[\n\s+/, '[')
    .replace(/\n\s+\]/, ']')
    .replaceAll(/,\n\s+/g, ', ');
  return line.length <= 110 ? line : list;
}

/** Values that Helm reserves for charts with this one as a dependency. This chart does not use them. */
const valuesOfParents: Readonly<Record<string, JsonSchema>> = {
  global: {
    description: 'Values for all charts of a release; this one uses none.',
    type: 'object',
    additionalProperties: true,
    examples: [{}],
  },
  enabled: {
    description: 'For the `condition` of a chart that has this one as a part; by itself it says nothing.',
    type: 'boolean',
  },
};

function objectOf(values: readonly DocumentedValue[]): JsonSchema {
  const properties = Object.fromEntries(values.map((value) => [value.name, schemaOf(value)]));
  // Templates read each part, and a null part removes what the schema requires.
  const required = values.flatMap(({ name, children }) => (children ? [name] : []));
  return {
    type: 'object',
    additionalProperties: false,
    properties,
    ...(required.length > 0 && { required }),
  };
}

function schemaOf({
  description,
  annotation,
  default: fallback,
  children,
  name,
}: DocumentedValue): JsonSchema {
  const described = description === '' ? {} : { description };
  if (children) return { ...described, ...objectOf(children), ...annotation };
  if (annotation.properties) {
    return { ...described, type: 'object', additionalProperties: false, ...annotation, default: fallback };
  }
  const isTyped = annotation.$ref !== undefined || annotation.const !== undefined;
  return {
    ...described,
    ...(isTyped ? {} : { type: typeOf(fallback, name) }),
    ...annotation,
    default: fallback,
  };
}

function typeOf(value: unknown, name: string): NonNullable<JsonSchema['type']> {
  if (Array.isArray(value)) return 'array';
  if (Number.isSafeInteger(value)) return 'integer';
  if (typeof value === 'boolean' || typeof value === 'string') return typeof value as 'boolean' | 'string';
  throw new Error(`values.yaml: the default of ${name} does not tell its type`);
}

/** Returns the README's table of values: a row for each value. */
export function valuesTable(text: string): string {
  const rows = documentedValues(text).flatMap((value) => rowsOf(value, ''));
  return ['| Value | Default | What it is |', '|---|---|---|', ...rows].join('\n');
}

function rowsOf(
  { name, description, default: fallback, children }: DocumentedValue,
  path: string,
): readonly string[] {
  const key = `${path}${name}`;
  if (!children) return [`| \`${key}\` | \`${JSON.stringify(fallback)}\` | ${description} |`];
  const own = description === '' ? [] : [`| \`${key}\` | | ${description} |`];
  return [...own, ...children.flatMap((child) => rowsOf(child, `${key}.`))];
}
