import { readFile } from 'node:fs/promises';

/** The audit policy of an API server: log every write of Leases and LeaseCandidates, at its start and its end. */
export const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitManagedFields: true,
  rules: [
    {
      // The answer contains the resourceVersion, which identifies the write in etcd's history.
      level: 'RequestResponse',
      verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
      resources: [{ group: 'coordination.k8s.io' }],
    },
    { level: 'None' },
  ],
};

export function auditLogName(server: string): string {
  return `audit-${server}.jsonl`;
}

/** A request to write one object, as an API server recorded it. Times are by the wall clock, in milliseconds. */
export interface AuditedWrite {
  /** The API server that executed it. */
  readonly server: string;
  readonly resource: string;
  /** `<namespace>/<name>` */
  readonly key: string;
  readonly isDelete: boolean;
  readonly user: string;
  /** Of the user; each coordinator has its own. */
  readonly uid: string;
  /** Of the program; each candidate has its own. */
  readonly userAgent: string;
  readonly receivedAt: number;
  /** Absent when the server was killed before it answered. */
  readonly answeredAt?: number;
  readonly status?: number;
  /** Of the resulting object. */
  readonly revision?: number;
}

interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string; readonly uid?: string };
  readonly userAgent?: string;
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly name?: string };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly responseStatus?: { readonly code?: number };
  readonly responseObject?: {
    readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
  };
}

/** Reads an API server's audit log, across its restarts. */
export async function readAuditLog(path: string, server: string): Promise<readonly AuditedWrite[]> {
  const writes = new Map<string, AuditedWrite>();
  for (const line of (await readFile(path, 'utf8')).split('\n')) {
    const event = parse(line);
    if (event?.objectRef === undefined) continue;
    const known = writes.get(event.auditID);
    // Later stages, such as a panic, add no information.
    if (known?.answeredAt === undefined) writes.set(event.auditID, writeOf(event, event.objectRef, server));
  }
  return [...writes.values()];
}

function writeOf(event: AuditEvent, ref: NonNullable<AuditEvent['objectRef']>, server: string): AuditedWrite {
  const { stage, responseObject, responseStatus } = event;
  const revision = responseObject?.metadata?.resourceVersion;
  return {
    server,
    resource: ref.resource ?? '',
    key: `${ref.namespace}/${ref.name ?? responseObject?.metadata?.name}`,
    isDelete: event.verb === 'delete',
    user: event.user.username,
    uid: event.user.uid ?? '',
    userAgent: event.userAgent ?? '',
    receivedAt: timeOf(event.requestReceivedTimestamp),
    ...(stage === 'RequestReceived'
      ? {}
      : { answeredAt: timeOf(event.stageTimestamp), status: responseStatus?.code ?? 0 }),
    ...(revision === undefined || event.verb === 'delete' ? {} : { revision: Number(revision) }),
  };
}

/** With microseconds, which Date.parse drops. */
function timeOf(text: string): number {
  const fraction = /\.(\d+)Z$/.exec(text)?.[1] ?? '';
  return Date.parse(text.replace(/\.\d+Z$/, 'Z')) + Number(`0.${fraction}0`) * 1000;
}

/** A killed server may have left a partial line. */
function parse(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}
