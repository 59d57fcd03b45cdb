import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A request for Leases or LeaseCandidates, as the API server recorded it. */
export interface AuditedRequest {
  readonly verb: string;
  readonly user: string;
  /**
   * Distinguishes clients with the same ServiceAccount but different tokens; the user's name if there is no token, as
   * for the controller built into the API server (`system:apiserver`).
   */
  readonly client: string;
  /** The user agent. */
  readonly userAgent: string;
  readonly resource: string;
  /** Empty for requests across namespaces. */
  readonly namespace: string;
  /** Empty for lists and watches. */
  readonly name: string;
  readonly apiVersion: string;
  readonly status: number;
  /** When the server received the request, in milliseconds since the Unix epoch. */
  readonly receivedAt: number;
  /** When it answered, or began the answer to a watch. */
  readonly answeredAt: number;
  /** The body of a write. */
  readonly body: { readonly spec?: Readonly<Record<string, unknown>> } | undefined;
}

/** The audit log of one API server, across its restarts. */
export interface AuditLog {
  /** For {@link ControlPlaneOptions.extraApiServerArgs}. */
  readonly apiServerArgs: readonly string[];
  /** All records so far, in the order of the answers. */
  requests(): Promise<AuditedRequest[]>;
  remove(): Promise<void>;
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiVersion?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly requestObject?: { readonly spec?: Readonly<Record<string, unknown>> };
}

/** Which requests for Leases and LeaseCandidates are recorded, like a rule of an audit policy. */
export interface AuditRule {
  /** Only `Request` records bodies. */
  readonly level: 'Request' | 'Metadata';
  /** By default, requests of all users and in all namespaces. */
  readonly users?: readonly string[];
  readonly verbs?: readonly string[];
  readonly namespaces?: readonly string[];
}

const everything: readonly AuditRule[] = [
  { level: 'Request', verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'] },
  { level: 'Metadata' },
];

/**
 * Prepares an audit log for a control plane that has not started yet. The caller removes it. The first of `rules`
 * that matches a request counts; other requests are not recorded.
 */
export async function prepareAuditLog(rules = everything): Promise<AuditLog> {
  const directory = await mkdtemp(join(tmpdir(), 'audit-'));
  const policyFile = join(directory, 'policy.json');
  const logFile = join(directory, 'audit.log');
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [
      ...rules.map((rule) => ({ ...rule, resources: [{ group: 'coordination.k8s.io' }] })),
      { level: 'None' },
    ],
  };
  await writeFile(policyFile, JSON.stringify(policy));
  return {
    apiServerArgs: [
      `--audit-policy-file=${policyFile}`,
      `--audit-log-path=${logFile}`,
      // Written before the response: every answered request is in the log.
      '--audit-log-mode=blocking',
    ],
    async requests() {
      const text = await readFile(logFile, 'utf8');
      // The last line may be incomplete, and a killed server may have left a partial line.
      return text.split('\n').flatMap((line) => {
        const event = parse(line);
        return event === undefined || isEndOfWatch(event) ? [] : [requestOf(event)];
      });
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** The {@link AuditedRequest.client} of requests with the kubeconfig of a ServiceAccount. */
export async function auditedClient(kubeconfig: string): Promise<string> {
  const { users } = JSON.parse(await readFile(kubeconfig, 'utf8')) as {
    readonly users: readonly { readonly user: { readonly token: string } }[];
  };
  const [, payload = ''] = users[0]?.user.token.split('.') ?? [];
  const { jti } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { readonly jti: string };
  return `JTI=${jti}`;
}

/** Whether a request changes something if it is allowed. */
export function isWrite({ verb }: Pick<AuditedRequest, 'verb'>): boolean {
  return !['get', 'list', 'watch'].includes(verb);
}

function parse(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}

function isEndOfWatch({ verb, stage }: AuditEvent): boolean {
  return verb === 'watch' && stage !== 'ResponseStarted';
}

function requestOf(event: AuditEvent): AuditedRequest {
  const { objectRef = {}, user } = event;
  return {
    verb: event.verb,
    user: user.username,
    client: user.extra?.['authentication.kubernetes.io/credential-id']?.[0] ?? user.username,
    userAgent: event.userAgent ?? '',
    resource: objectRef.resource ?? '',
    namespace: objectRef.namespace ?? '',
    name: objectRef.name ?? '',
    apiVersion: objectRef.apiVersion ?? '',
    status: event.responseStatus?.code ?? 0,
    receivedAt: Date.parse(event.requestReceivedTimestamp),
    answeredAt: Date.parse(event.stageTimestamp),
    body: event.requestObject,
  };
}
