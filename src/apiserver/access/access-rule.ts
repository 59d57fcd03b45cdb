/** What somebody wants to do: with a resource, or with a path that is none. */
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

/** Whether a rule allows this. */
export function admits(rule: AccessRule, wanted: Attributes): boolean {
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
