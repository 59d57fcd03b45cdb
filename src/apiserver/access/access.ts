import { hash } from 'node:crypto';
import { ApiError, forbiddenRequest } from '../errors/api-error.ts';

/** A client, as its token names it. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

/** What a client asks to do: with a resource, or with another path. */
export type Attributes = ResourceAttributes | PathAttributes;

export interface ResourceAttributes {
  readonly kind: 'resource';
  readonly verb: string;
  /** '' for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Absent: all of them, or of a resource that is in none. */
  readonly namespace?: string;
  readonly name?: string;
}

export interface PathAttributes {
  readonly kind: 'path';
  readonly verb: string;
  readonly path: string;
}

/** Something that may be done, as in a Role of Kubernetes; `*` stands for all of its kind. */
export type AccessRule = ResourceRule | PathRule;

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly groups: readonly string[];
  /** `leases`, or `leases/status` for a subresource. */
  readonly resources: readonly string[];
  /** Absent: in all of them and across them. */
  readonly namespaces?: readonly string[];
}

export interface PathRule {
  readonly verbs: readonly string[];
  /** One that ends in `*` covers everything that begins like it. */
  readonly paths: readonly string[];
}

/** A token, and what whoever shows it may do. */
export interface TokenGrant {
  readonly token: string;
  readonly user: User;
  /** `admin`: everything; `read-only`: to read everything. */
  readonly rules: 'admin' | 'read-only' | readonly AccessRule[];
}

/** Somebody who was let in. */
export interface Principal {
  readonly user: User;
  may(attributes: Attributes): boolean;
}

/** Who is let in, and to what. */
export interface Access {
  /** Whoever sends this Authorization header; without a token that is anonymous. Undefined: nobody has this token. */
  authenticate(authorization: string | undefined): Principal | undefined;
}

const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** What anybody may read, to see whether the server works. */
const publicRules: readonly AccessRule[] = [
  { verbs: ['get'], paths: ['/healthz', '/livez', '/readyz', '/version', '/version/'] },
];

/** What everybody with a token may do, as on a cluster of Kubernetes: find out what there is, and what they may do. */
const everyonesRules: readonly AccessRule[] = [
  ...publicRules,
  { verbs: ['get'], paths: ['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*'] },
  { verbs: ['create'], groups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
  { verbs: ['create'], groups: ['authorization.k8s.io'], resources: ['selfsubjectaccessreviews'] },
];

const namedRules: Readonly<Record<'admin' | 'read-only', readonly AccessRule[]>> = {
  admin: [
    { verbs: ['*'], groups: ['*'], resources: ['*'] },
    { verbs: ['*'], paths: ['*'] },
  ],
  'read-only': [
    { verbs: ['get', 'list', 'watch'], groups: ['*'], resources: ['*'] },
    { verbs: ['get'], paths: ['*'] },
  ],
};

/** Lets in whoever shows one of these tokens. Tokens are only ever compared by their hash, so that time tells nothing. */
export function createAccess(tokens: readonly TokenGrant[]): Access {
  const principals = new Map<string, Principal>();
  for (const { token, user, rules } of tokens) {
    const granted = typeof rules === 'string' ? namedRules[rules] : rules;
    const groups = [...user.groups, 'system:authenticated'];
    principals.set(hashOf(token), principal({ ...user, groups }, [...everyonesRules, ...granted]));
  }
  const anonymous = principal(ANONYMOUS, publicRules);
  return {
    authenticate(authorization) {
      const token = bearerToken(authorization);
      return token === '' ? anonymous : principals.get(hashOf(token));
    },
  };
}

function principal(user: User, rules: readonly AccessRule[]): Principal {
  return { user, may: (attributes) => rules.some((rule) => admits(rule, attributes)) };
}

/** '' where there is none: whoever uses another scheme is anonymous. */
function bearerToken(authorization = ''): string {
  const [scheme = '', token = ''] = authorization.trim().split(' ', 2);
  return scheme.toLowerCase() === 'bearer' ? token : '';
}

function hashOf(token: string): string {
  return hash('sha256', token, 'base64');
}

/** Whether the rule allows the request. */
function admits(rule: AccessRule, wanted: Attributes): boolean {
  if (!covers(rule.verbs, wanted.verb)) return false;
  if ('paths' in rule) return wanted.kind === 'path' && rule.paths.some((each) => matches(each, wanted.path));
  if (wanted.kind === 'path') return false;
  const { group, resource, subresource, namespace } = wanted;
  return (
    covers(rule.groups, group) &&
    covers(rule.resources, subresource === undefined ? resource : `${resource}/${subresource}`) &&
    (rule.namespaces === undefined || (namespace !== undefined && covers(rule.namespaces, namespace)))
  );
}

function covers(listed: readonly string[], value: string): boolean {
  return listed.includes(value) || listed.includes('*');
}

function matches(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)));
}

/** 401: a token that nobody has. */
export function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized');
}

/** 403: what this user may not do. */
export function forbidden({ name: user }: User, wanted: Attributes): ApiError {
  const who = `User ${quoted(user)} cannot ${wanted.verb}`;
  if (wanted.kind === 'path') {
    const message = `forbidden: ${withoutMarkup(`${who} path ${quoted(wanted.path)}`)}`;
    return new ApiError(403, 'Forbidden', message, {});
  }
  const { group, resource, subresource, namespace, name = '' } = wanted;
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${quoted(namespace)}`;
  const problem = `${who} resource ${quoted(what)} in API group ${quoted(group)} ${where}`;
  return forbiddenRequest({ group, name: resource }, name, withoutMarkup(problem));
}

/** 403: a request in the name of another user. `header` asks for that. */
export function impersonationRefused(header: string): ApiError {
  const problem = `this server does not support impersonation: send the request without the header ${quoted(header)}`;
  return new ApiError(403, 'Forbidden', `forbidden: ${withoutMarkup(problem)}`, {});
}

/** What is quoted comes from the client, and may be shown by a browser. */
function withoutMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
