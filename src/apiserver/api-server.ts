import { type ServedCandidates, servedCandidates } from '../coordination/candidate-sources.ts';
import { hostAndPort, type ListenAddress } from '../support/address.ts';
import type { Clock } from '../support/clock.ts';
import { Slices } from '../support/event-loop.ts';
import { type Access, createAccess, type TokenGrant } from './access/access.ts';
import { createPathHandlers } from './discovery/path-handlers.ts';
import { type RequestLine, startHttpFront } from './http/server.ts';
import { createResources } from './kinds/registry.ts';
import { answer } from './operations/operations.ts';
import { timestamp } from './operations/request.ts';
import { startStandIns } from './stand-ins.ts';
import { openSqliteJournal } from './storage/journal.ts';
import { ObjectStore } from './storage/object-store.ts';

/** The options of the embedded coordination API server. */
export interface ApiServerOptions {
  readonly clock: Clock;
  /** Port 0 selects a free port. */
  readonly listen: ListenAddress;
  /** Certificate and key in PEM. Without them, the server uses plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly tokens: readonly TokenGrant[];
  /**
   * The served LeaseCandidate versions, preferred version first, including this project's own group. Without a version of
   * coordination.k8s.io, the server acts as with the feature gate off. Default: all.
   */
  readonly leaseCandidateVersions?: readonly ServedCandidates[];
  /** The directory for the state. Without it, the state is in memory only. */
  readonly dataDirectory?: string;
  /** The number of changes per resource that are kept for watches and continued lists; default 10,000. */
  readonly historyLimit?: number;
  /** Whether to run the stand-ins for kube-controller-manager, see stand-ins.ts; default true. */
  readonly standIns?: boolean;
  /** The version in /version; default {@link defaultGitVersion}. */
  readonly gitVersion?: string;
  readonly onRequest?: (line: RequestLine) => void;
  /** Receives unexpected errors. The client got a 500. */
  readonly onError?: (error: unknown) => void;
}

export interface ApiServer {
  /** `https://127.0.0.1:6443` */
  readonly url: string;
  readonly address: ListenAddress;
  /** Ends watches, answers requests in flight, closes the data directory. */
  close(): Promise<void>;
}

/** The Kubernetes version that this server imitates. */
export const defaultGitVersion = 'v1.36.3';

const FIRST_NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

/**
 * Starts the coordination API without a Kubernetes cluster: Leases, LeaseCandidates, Events and namespaces.
 * @throws {Error} that says what to do, if the address or the data directory cannot be used.
 */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { clock, leaseCandidateVersions = servedCandidates, dataDirectory, historyLimit } = options;
  const { onError = () => {} } = options;
  const resources = createResources({ leaseCandidateVersions });
  const store = new ObjectStore({
    ...(dataDirectory !== undefined && { journal: openSqliteJournal(dataDirectory) }),
    ...(historyLimit !== undefined && { historyLimit }),
  });
  const slices = new Slices(clock);
  try {
    createNamespaces(store, clock, resources);
    const access: Access = createAccess(options.tokens);
    const context = { store, clock, resources };
    const front = await startHttpFront({
      listen: options.listen,
      ...(options.tls && { tls: options.tls }),
      resources,
      access,
      clock,
      pathHandlers: createPathHandlers({
        resources,
        gitVersion: options.gitVersion ?? defaultGitVersion,
      }),
      handle: (request) => slices.run(answer(context, request)),
      slices,
      ...(options.onRequest && { onRequest: options.onRequest }),
      onError,
    });
    const standIns =
      options.standIns === false ? undefined : startStandIns({ store, clock, slices, resources, onError });
    const { host, port } = front.address;
    return {
      url: `${options.tls ? 'https' : 'http'}://${hostAndPort(host, port)}`,
      address: front.address,
      async close() {
        standIns?.stop();
        await front.close();
        store.close();
      },
    };
  } catch (error) {
    store.close();
    throw error;
  }
}

/** Creates the namespaces that every cluster has. */
function createNamespaces(
  store: ObjectStore,
  clock: Clock,
  resources: ReturnType<typeof createResources>,
): void {
  const definition = resources.find(({ resource }) => resource === 'namespaces');
  if (definition === undefined) return;
  for (const name of FIRST_NAMESPACES) {
    if (store.get(definition.storage, name) !== undefined) continue;
    const metadata = { name, uid: crypto.randomUUID(), creationTimestamp: timestamp(clock) };
    store.put(
      definition.storage,
      definition.prepareForCreate({ apiVersion: 'v1', kind: 'Namespace', metadata }),
    );
  }
}
