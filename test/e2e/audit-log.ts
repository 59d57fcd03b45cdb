import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A request about Leases or LeaseCandidates, as the API server itself recorded it. */
export interface AuditedRequest {
  readonly verb: string;
  readonly user: string;
  /**
   * Tells apart those who share a ServiceAccount but not a token; the user's name where there is no such thing, as for
   * the controller built into the API server (`system:apiserver`).
   */
  readonly client: string;
  /** What it calls itself. */
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
  /** When it had answered, or begun to where the answer is a watch. */
  readonly answeredAt: number;
  /** The body of a write. */
  readonly body: { readonly spec?: Readonly<Record<string, unknown>> } | undefined;
}

/** The audit log of one control plane's API server, across its restarts. */
export interface AuditLog {
  /** For {@link ControlPlaneOptions.extraApiServerArgs}. */
  readonly apiServerArgs: readonly string[];
  /** Everything recorded so far, in the order in which it was answered. */
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

/** What is recorded of which requests about Leases and LeaseCandidates, like a rule of an audit policy. */
export interface AuditRule {
  /** Only `Request` records bodies. */
  readonly level: 'Request' | 'Metadata';
  /** Everybody's, all of them, and those in every namespace unless told otherwise. */
  readonly users?: readonly string[];
  readonly verbs?: readonly string[];
  readonly namespaces?: readonly string[];
}

const everything: readonly AuditRule[] = [
  { level: 'Request', verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'] },
  { level: 'Metadata' },
];

/**
 * Prepares an audit log for a control plane that is yet to be started. Whoever calls this removes it. Of `rules`, the
 * first that fits a request counts; one that fits none is not recorded.
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
      // Written before the request is answered: what is over is in the log.
      '--audit-log-mode=blocking',
    ],
    async requests() {
      const text = await readFile(logFile, 'utf8');
      // The last line may still be being written, and a server that was killed may have left half a line behind.
      return text.split('\n').flatMap((line) => {
        const event = parse(line);
        return event === undefined || isEndOfWatch(event) ? [] : [requestOf(event)];
      });
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** The {@link AuditedRequest.client} that requests with a kubeconfig for a ServiceAccount will be recorded under. */
export async function auditedClient(kubeconfig: string): Promise<string> {
  const { users } = JSON.parse(await readFile(kubeconfig, 'utf8')) as {
    readonly users: readonly { readonly user: { readonly token: string } }[];
  };
  const [, payload = ''] = users[0]?.user.token.split('.') ?? [];
  const { jti } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { readonly jti: string };
  return `JTI=${jti}`;
}

/** Whether a request is one that changes something if it is granted. */
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
