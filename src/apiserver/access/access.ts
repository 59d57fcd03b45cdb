import { hash } from 'node:crypto';
import { type AccessRule, type Attributes, admits } from './access-rule.ts';
import type { User } from './user.ts';

export type { AccessRule, Attributes };

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
