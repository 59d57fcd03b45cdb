import { LineCounter, type Node, parseDocument, stringify } from 'yaml';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { AccessRule, TokenGrant } from './access.ts';

export interface KubeconfigParts {
  /** `https://127.0.0.1:6443` */
  readonly server: string;
  /** The CA of the server's certificate, in PEM. Absent for plain HTTP and for a CA that clients already trust. */
  readonly ca?: string;
  readonly token: string;
}

const NAME = 'coordination';

/** Returns a kubeconfig for kubectl and all other Kubernetes clients. */
export function kubeconfigText({ server, ca, token }: KubeconfigParts): string {
  const authority = ca === undefined ? {} : { 'certificate-authority-data': base64(ca) };
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: NAME, cluster: { server, ...authority } }],
      users: [{ name: NAME, user: { token } }],
      contexts: [{ name: NAME, context: { cluster: NAME, user: NAME } }],
      'current-context': NAME,
    },
    // Do not wrap long certificates.
    { lineWidth: 0 },
  );
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

/** Makes an unguessable token of at least 16 random bytes. */
export function generateToken(randomBytes: Uint8Array): string {
  return Buffer.from(randomBytes).toString('base64url');
}

/** A problem in a token file. */
interface Problem {
  /** Undefined: the problem concerns the whole file. */
  readonly line: number | undefined;
  readonly message: string;
}

/** Parses a token file (YAML). @throws {Error} with all problems and their lines. */
export function parseTokenFile(text: string): readonly TokenGrant[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problems: Problem[] = document.errors.map(({ message, pos: [offset] }) => ({
    line: lines.linePos(offset).line,
    message,
  }));
  if (problems.length > 0) throw problemsError(problems);
  /** Returns the line of a value, or of its parent if the value is missing. */
  const lineOf = (path: readonly (string | number)[]): number | undefined => {
    const node = document.getIn(path, true) as Node | undefined;
    const offset = node?.range?.[0];
    if (offset !== undefined) return lines.linePos(offset).line;
    return path.length === 0 ? undefined : lineOf(path.slice(0, -1));
  };
  const content: unknown = document.toJS();
  if (!Array.isArray(content) || content.length === 0) {
    throw problemsError([{ line: 1, message: 'must be a list of at least one token' }]);
  }
  const note = (message: string, ...path: (string | number)[]) =>
    problems.push({ line: lineOf(path), message });
  const grants = content.map((entry: unknown, index) => readGrant(entry, index, note));
  if (problems.length === 0) noteRepetitions(grants, note);
  if (problems.length > 0) throw problemsError(problems);
  return grants;
}

type Note = (message: string, ...path: (string | number)[]) => void;

const GRANT_FIELDS = ['name', 'token', 'access', 'groups'];
const RULE_FIELDS = ['verbs', 'groups', 'resources', 'namespaces'];

function readGrant(entry: unknown, index: number, note: Note): TokenGrant {
  if (!isJsonObject(entry)) {
    note('must have name, token and access', index);
    return { token: '', user: { name: '', groups: [] }, rules: [] };
  }
  noteUnknown(entry, GRANT_FIELDS, note, [index]);
  const { name, token, access, groups = [] } = entry;
  if (typeof name !== 'string' || name === '') note('name must be text', index, 'name');
  if (typeof token !== 'string' || !/^\S+$/.test(token)) {
    note('token must be text without white space', index, 'token');
  }
  if (!isTexts(groups)) note('groups must be a list of texts', index, 'groups');
  const user = { name: String(name), groups: isTexts(groups) ? groups : [] };
  return { token: String(token), user, rules: readRules(access, index, note) };
}

function readRules(access: unknown, index: number, note: Note): TokenGrant['rules'] {
  if (access === 'admin' || access === 'read-only') return access;
  if (Array.isArray(access)) return access.map((rule, at) => readRule(rule, [index, 'access', at], note));
  note('access must be admin, read-only or a list of rules', index, 'access');
  return [];
}

function readRule(rule: unknown, path: readonly (string | number)[], note: Note): AccessRule {
  const given = isJsonObject(rule) ? rule : {};
  noteUnknown(given, RULE_FIELDS, note, path);
  const texts = (field: string): readonly string[] => {
    const value = given[field];
    // The name of the core group is the empty string.
    if (isTexts(value, field === 'groups') && value.length > 0) return value;
    note(`${field} must be a list of at least one text`, ...path, field);
    return [];
  };
  const required = { verbs: texts('verbs'), groups: texts('groups'), resources: texts('resources') };
  return given['namespaces'] === undefined ? required : { ...required, namespaces: texts('namespaces') };
}

function noteUnknown(
  given: JsonObject,
  known: readonly string[],
  note: Note,
  path: readonly (string | number)[],
): void {
  for (const field of Object.keys(given)) {
    if (!known.includes(field)) note(`${field} is not known; there are ${known.join(', ')}`, ...path, field);
  }
}

function noteRepetitions(grants: readonly TokenGrant[], note: Note): void {
  const tokens = new Set<string>();
  for (const [index, { token }] of grants.entries()) {
    if (tokens.has(token)) note('token is that of another entry too', index, 'token');
    tokens.add(token);
  }
}

function isTexts(value: unknown, orNone = false): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string' && (orNone || each !== ''));
}

function problemsError(problems: readonly Problem[]): Error {
  const told = problems.map(({ line, message }) =>
    line === undefined ? message : `line ${line}: ${message}`,
  );
  return new Error(told.join('\n'));
}
