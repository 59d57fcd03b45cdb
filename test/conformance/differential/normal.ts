import { parse } from 'yaml';
import { withoutProse } from '../expected.ts';
import type { Answer, Body } from '../target.ts';
import type { WatchedEvent } from '../watched-stream.ts';

/** An answer with normalized values: uids, times and revisions get names that are the same on every server. */
export interface NormalAnswer {
  readonly code: number;
  readonly type: string | undefined;
  /** The fields that warnings report as unknown. */
  readonly unknownFields: readonly string[];
  /** Parsed. */
  readonly body: unknown;
}

/** The names of one server's values, in the order of their first occurrence. */
export interface Names {
  readonly uids: Map<string, string>;
  readonly revisions: Map<string, string>;
}

export function newNames(): Names {
  return { uids: new Map(), revisions: new Map() };
}

/** `listRevision`: the revision of the list that the request continued or asked for. */
export function normalAnswer(answer: Answer, names: Names, listRevision?: string): NormalAnswer {
  const type = answer.headers['content-type'];
  return {
    code: answer.code,
    type,
    unknownFields: answer.warnings.flatMap((text) => /unknown field (".*")$/.exec(text)?.[1] ?? []).sort(),
    body: normalValue(type?.endsWith('yaml') ? parse(answer.text) : answer.json, names, listRevision),
  };
}

export function normalEvent(event: WatchedEvent, names: Names): unknown {
  return normalValue(event, names, undefined);
}

function normalValue(value: unknown, names: Names, listRevision: string | undefined, key = ''): unknown {
  if (typeof value === 'string') return normalText(value, names);
  if (Array.isArray(value)) {
    const items = value.map((item) => normalValue(item, names, listRevision));
    // The order of several managers may depend on whether a second has passed between their requests.
    if (key === 'managedFields') return items.sort(byText);
    if (key === 'cells') return items.map((cell) => (isAge(cell) ? 'AGE' : cell));
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const normal: Record<string, unknown> = {};
  for (const [field, each] of Object.entries(withoutProse(value) as object)) {
    normal[field] =
      field === 'metadata' && isFields(each)
        ? normalMetadata(each, names, listRevision)
        : normalValue(each, names, listRevision, field);
  }
  return normal;
}

function normalMetadata(
  metadata: Readonly<Record<string, unknown>>,
  names: Names,
  listRevision: string | undefined,
): unknown {
  const normal = normalValue(metadata, names, listRevision) as Record<string, unknown>;
  const { resourceVersion, name, continue: token } = metadata as Partial<Body['metadata']>;
  if (typeof token === 'string') normal['continue'] = 'TOKEN';
  if (typeof resourceVersion === 'string') {
    normal['resourceVersion'] =
      name === undefined
        ? listName(resourceVersion, names, listRevision)
        : nameOf(resourceVersion, names.revisions, 'revision');
  }
  return normal;
}

/** Other writes may have increased a list's revision, but never decreased it. */
function listName(revision: string, names: Names, listRevision: string | undefined): string {
  const known = [...names.revisions.keys()].map(Number).filter((each) => !Number.isNaN(each));
  if (Number(revision) >= Math.max(0, ...known)) return 'LATEST';
  if (revision === listRevision) return 'AS ASKED';
  return names.revisions.get(revision) ?? 'BEFORE THE LATEST';
}

function normalText(text: string, names: Names): string {
  return withoutTimes(withoutUids(text, names)).replaceAll(/(Not_Valid|gen-)[a-z0-9]{5}\b/g, '$1SUFFIX');
}

function withoutUids(text: string, names: Names): string {
  return text.replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (uid) =>
    nameOf(uid, names.uids, 'uid'),
  );
}

/** Times in steps are in the year 2020. */
function withoutTimes(text: string): string {
  return text.replaceAll(/20(?:2[1-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'NOW');
}

function nameOf(value: string, names: Map<string, string>, prefix: string): string {
  const known = names.get(value);
  if (known !== undefined) return known;
  const name = `${prefix} ${names.size + 1}`;
  names.set(value, name);
  return name;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isAge(cell: unknown): boolean {
  return typeof cell === 'string' && /^\d+[smh](\d+[smh])?$/.test(cell);
}

function byText(a: unknown, b: unknown): number {
  const [first, second] = [textOf(a), textOf(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** Independent of the order of the fields. */
function textOf(value: unknown): string {
  return JSON.stringify(isFields(value) ? Object.entries(value).toSorted(byName) : value);
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
