import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { messageOf } from '../../support/error-message.ts';
import { MAX_JSON_DEPTH } from '../schema/json-survey.ts';
import { readJson } from '../schema/read-json.ts';
import { jsonProblem } from './json-problem.ts';

/** A body as plain JSON, whatever it was written in. */
export type ParsedBody =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** What YAML has twice and is lost, told by line; duplicates in JSON are found when it is decoded. */
      readonly duplicates: readonly string[];
    }
  | { readonly ok: false; readonly problem: string };

/** How Kubernetes, whose YAML is that of 1.1, reads dates (as text), and what it takes for no number (`1:20`). */
const notAsYaml11 = (tag: { readonly tag: string; readonly format?: string }) =>
  tag.tag !== 'tag:yaml.org,2002:timestamp' && tag.format !== 'TIME';

/** Parses a body by its media type; anything but YAML counts as JSON, which most clients that name no type send. */
export function parseBody(body: Buffer, contentType: string): ParsedBody {
  const text = body.toString('utf8');
  if (contentType === 'application/yaml') return parseYaml(text);
  try {
    return { ok: true, value: readJson(text), duplicates: [] };
  } catch {
    return { ok: false, problem: `couldn't get version/kind; json parse error: ${jsonProblem(text)}` };
  }
}

/** Parses YAML as Kubernetes does before it makes JSON of it. */
export function parseYaml(text: string): ParsedBody {
  try {
    return parseDocumentOf(text);
  } catch (error) {
    // Bad aliases, and what is nested more deeply than the library's stack allows.
    return { ok: false, problem: `yaml: ${messageOf(error)}` };
  }
}

function parseDocumentOf(text: string): ParsedBody {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    schema: 'yaml-1.1',
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || notAsYaml11(tag)),
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
  });
  const [error] = document.errors;
  if (error)
    return { ok: false, problem: `yaml: line ${lines.linePos(error.pos[0]).line}: ${error.message}` };
  const value: unknown = document.toJS();
  if (isDeeper(value, MAX_JSON_DEPTH)) {
    return { ok: false, problem: `yaml: nested more than ${MAX_JSON_DEPTH} levels deep` };
  }
  return { ok: true, value, duplicates: duplicateKeys(document.contents, lines) };
}

/** An alias of what it is in has no end of levels. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

/** Those within the value of a key come before the key itself. */
function duplicateKeys(node: unknown, lines: LineCounter): readonly string[] {
  if (isSeq(node)) return node.items.flatMap((item) => duplicateKeys(item, lines));
  if (!isMap(node)) return [];
  const keys = new Set<unknown>();
  return node.items.flatMap(({ key, value }) => {
    const within = duplicateKeys(value, lines);
    if (!isScalar(key)) return within;
    const isDuplicate = keys.has(key.value);
    keys.add(key.value);
    const { line } = lines.linePos(key.range?.[0] ?? 0);
    return isDuplicate
      ? [...within, `line ${line}: key ${JSON.stringify(String(key.value))} already set in map`]
      : within;
  });
}

/** What strict reading says of the keys that YAML has twice. */
export function duplicateKeysProblem(duplicates: readonly string[]): string {
  return `yaml: unmarshal errors:\n  ${duplicates.join('\n  ')}`;
}
