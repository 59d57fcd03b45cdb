import { hash } from 'node:crypto';
import { ApiError, forbiddenRequest } from '../errors/api-error.ts';

/** The user that a token identifies. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A requested action on a resource or on another path. */
export type Attributes = ResourceAttributes | PathAttributes;

export interface ResourceAttributes {
  readonly kind: 'resource';
  readonly verb: string;
  /** '' for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Absent for all namespaces, and for a resource that is not namespaced. */
  readonly namespace?: string;
  readonly name?: string;
}

export interface PathAttributes {
  readonly kind: 'path';
  readonly verb: string;
  readonly path: string;
}

/** A permission, as in a Role of Kubernetes. `*` matches every value. */
export type AccessRule = ResourceRule | PathRule;

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly groups: readonly string[];
  /** `leases`, or `leases/status` for a subresource. */
  readonly resources: readonly string[];
  /** Absent: the rule applies in all namespaces, and to requests across namespaces. */
  readonly namespaces?: readonly string[];
}

export interface PathRule {
  readonly verbs: readonly string[];
  /** A path that ends in `*` matches every path with this prefix. */
  readonly paths: readonly string[];
}

/** A token and its permissions. */
export interface TokenGrant {
  readonly token: string;
  readonly user: User;
  /** `admin`: all actions. `read-only`: all reads. */
  readonly rules: 'admin' | 'read-only' | readonly AccessRule[];
}

/** A user with permissions. */
export interface Principal {
  readonly user: User;
  may(attributes: Attributes): boolean;
}

/** Authenticates clients by their tokens. */
export interface Access {
  /**
   * Returns the user and permissions for an Authorization header. Without a token: the anonymous user. Undefined: the
   * token is unknown.
   */
  authenticate(authorization: string | undefined): Principal | undefined;
}

const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Every client may read these paths: they show whether the server works. */
const publicRules: readonly AccessRule[] = [
  { verbs: ['get'], paths: ['/healthz', '/livez', '/readyz', '/version', '/version/'] },
];

/** Permissions of every token, as in Kubernetes: discovery, and reviews of the user's own access. */
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

/** Grants access by these tokens. Compares only hashes of tokens, so that the response time reveals nothing. */
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

/** Returns '' if there is no token. A client with another scheme is anonymous. */
function bearerToken(authorization = ''): string {
  const [scheme = '', token = ''] = authorization.trim().split(' ', 2);
  return scheme.toLowerCase() === 'bearer' ? token : '';
}

function hashOf(token: string): string {
  return hash('sha256', token, 'base64');
}

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

/** 401: the token is unknown. */
export function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized');
}

/** 403: the user lacks the permission. */
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

/** 403: the request contains an impersonation header. */
export function impersonationRefused(header: string): ApiError {
  const problem = `this server does not support impersonation: send the request without the header ${quoted(header)}`;
  return new ApiError(403, 'Forbidden', `forbidden: ${withoutMarkup(problem)}`, {});
}

/** Escapes markup: the text contains values from the client, and a browser may show it. */
function withoutMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
