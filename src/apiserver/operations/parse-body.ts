import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { messageOf } from '../../support/text.ts';
import { readJson } from '../schema/read-json.ts';
import { jsonProblem } from './json-problem.ts';
import { aliasProblem } from './yaml-aliases.ts';

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
    // It walks what it reads level by level, and reports what it finds only then by throwing it.
    const problem = error instanceof RangeError ? 'exceeded max depth of 10000' : messageOf(error);
    return { ok: false, problem: `yaml: ${problem}` };
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
  const problem = aliasProblem(document);
  if (problem !== undefined) return { ok: false, problem: `yaml: ${problem}` };
  const value: unknown = document.toJS({ maxAliasCount: -1 });
  return { ok: true, value, duplicates: duplicateKeys(document.contents, lines) };
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
