/** The purpose of a folder of src/, and its allowed imports besides its own files. */
export interface Folder {
  /** Completes "this folder ...". */
  readonly does: string;
  /** Folders of src/, each without its subfolders. */
  readonly folders?: readonly string[];
  /** Packages of npm. */
  readonly packages?: readonly string[];
  /** Modules of Node, without `node:`. */
  readonly node?: readonly string[];
}

/**
 * The allowed imports between folders of src/: all others are forbidden, and each allowed one is used. `main.ts`,
 * `index.ts` and `election-library.ts` count as folders. No folder imports, directly or indirectly, one that imports
 * it.
 */
export const importMatrix: Readonly<Record<string, Folder>> = {
  'main.ts': {
    does: 'starts the program; the only reader of argv, env, signals and the real clock',
    folders: ['cli', 'support'],
    node: ['os', 'path'],
  },
  'index.ts': {
    does: 'exports the API of the package: taking part in an election',
    folders: ['kubernetes', 'participant', 'support'],
  },
  'election-library.ts': {
    does: 'exports the pure election logic as `coordinated-leader-election/election`',
    folders: ['coordination', 'election', 'kubernetes'],
  },
  cli: {
    does: 'reads the command line, has the table of all commands (`commands.ts`), and prints results',
    folders: [
      'demo',
      'inspection',
      'kubernetes',
      'moving',
      'processes',
      'processes/participant',
      'settings',
      'support',
    ],
    packages: ['commander', 'yaml'],
    node: ['util'],
  },
  demo: {
    does: 'shows an election in a terminal and a browser: an API server, the coordinator, sample candidates',
    folders: [
      'apiserver',
      'apiserver/access',
      'controller',
      'coordination',
      'election',
      'inspection',
      'kubernetes',
      'participant',
      'processes',
      'settings',
      'status-page',
      'support',
      'telemetry',
    ],
    node: ['child_process', 'crypto', 'fs', 'os', 'path', 'readline', 'tty', 'util'],
  },
  processes: {
    does: 'assembles and starts the coordinator, the embedded API server, and the endpoints for health and metrics',
    folders: [
      'apiserver',
      'apiserver/access',
      'controller',
      'kubernetes',
      'settings',
      'status-page',
      'support',
      'telemetry',
    ],
    node: ['crypto', 'fs', 'http', 'os', 'path'],
  },
  'processes/participant': {
    does: 'takes part in elections for another program, as a wrapper or as a sidecar (`/leader`, `/lead`)',
    folders: ['participant', 'processes', 'settings', 'support', 'telemetry'],
    packages: ['prom-client'],
    node: ['child_process', 'fs', 'http', 'os', 'path'],
  },
  'status-page': {
    does: 'serves the status page of a coordinator: its data and its stream of changes',
    folders: [
      'controller',
      'controller/lock',
      'coordination',
      'election',
      'inspection',
      'support',
      'telemetry',
    ],
    node: ['fs', 'http', 'path', 'stream', 'zlib'],
  },
  'status-page/page': { does: 'draws the status page: the only code for browsers' },
  telemetry: {
    does: 'turns events of the controller into logs, metrics and Kubernetes Events; no election waits for it',
    folders: [
      'controller',
      'controller/lock',
      'coordination',
      'election',
      'kubernetes',
      'settings',
      'support',
    ],
    packages: ['pino', 'prom-client'],
  },
  moving: {
    does: 'sets priorities and waits for the result, for `transfer`, `drain` and `undrain`',
    folders: ['coordination', 'election', 'inspection', 'kubernetes', 'support'],
  },
  inspection: {
    does: 'inspects a cluster with the code of the controller, for `audit`, `status`, `explain`, `plan` and `doctor`',
    folders: [
      'controller',
      'controller/lock',
      'coordination',
      'election',
      'kubernetes',
      'settings',
      'support',
    ],
  },
  controller: {
    does: 'gathers the input, calls the decision, applies it, and records the result; contains no election rules',
    folders: [
      'controller/leader-label',
      'controller/lock',
      'coordination',
      'election',
      'kubernetes',
      'support',
    ],
    node: ['crypto', 'os', 'util'],
  },
  'controller/leader-label': {
    does: 'keeps a label on the Pod of each leader; no election depends on it',
    folders: ['controller/lock', 'coordination', 'election', 'kubernetes', 'support'],
  },
  'controller/lock': {
    does: 'holds the lock: a Lease that allows one coordinator at a time to write',
    folders: ['coordination', 'kubernetes', 'support'],
  },
  participant: {
    does: 'takes part in an election: publishes a LeaseCandidate, and leads while it holds the Lease',
    folders: ['coordination', 'election', 'kubernetes', 'support'],
    packages: ['prom-client'],
    node: ['module', 'os'],
  },
  settings: {
    does: 'declares the settings of every command: flag, environment variable, default and validation',
    folders: ['coordination', 'election', 'support'],
  },
  kubernetes: {
    does: 'talks to an API server: client, reflector, discovery, kubeconfig; knows nothing of elections',
    folders: ['support'],
    packages: ['@kubernetes/client-node', 'socks', 'yaml'],
    node: [
      'async_hooks',
      'child_process',
      'diagnostics_channel',
      'events',
      'fs',
      'http',
      'https',
      'module',
      'net',
      'os',
      'path',
      'stream',
      'tls',
      'url',
      'util',
      'zlib',
    ],
  },
  coordination: {
    does: 'decodes Leases, LeaseCandidates (of every version) and Pods into one model, and builds patches',
    folders: ['election', 'kubernetes', 'support'],
  },
  election: {
    does: 'decides: pure functions of an input and the time, without I/O, clock, logger or promises',
    folders: ['support'],
    packages: ['semver'],
  },
  apiserver: {
    does: 'serves the coordination API without Kubernetes; does not depend on the controller',
    folders: [
      'apiserver/access',
      'apiserver/discovery',
      'apiserver/http',
      'apiserver/kinds',
      'apiserver/operations',
      'apiserver/schema',
      'apiserver/storage',
      'coordination',
      'support',
    ],
  },
  'apiserver/discovery': {
    does: 'answers questions about the server: API groups, OpenAPI, health, version',
    folders: [
      'apiserver/access',
      'apiserver/errors',
      'apiserver/http',
      'apiserver/kinds',
      'apiserver/schema',
      'support',
    ],
    node: ['crypto'],
  },
  'apiserver/http': {
    does: 'reads complete requests and writes answers: routing, formats, connections',
    folders: [
      'apiserver/access',
      'apiserver/errors',
      'apiserver/kinds',
      'apiserver/operations',
      'apiserver/schema',
      'apiserver/watch',
      'support',
    ],
    packages: ['yaml'],
    node: ['crypto', 'http', 'https', 'net', 'stream', 'zlib'],
  },
  'apiserver/operations': {
    does: 'answers one request about a resource: reads, writes, patches and deletions',
    folders: [
      'apiserver/access',
      'apiserver/errors',
      'apiserver/kinds',
      'apiserver/ownership',
      'apiserver/patch',
      'apiserver/schema',
      'apiserver/selectors',
      'apiserver/storage',
      'apiserver/watch',
      'support',
    ],
    packages: ['yaml'],
    node: ['crypto', 'path', 'util'],
  },
  'apiserver/watch': {
    does: 'sends changes to watchers, from one bounded history per kind of object',
    folders: ['apiserver/errors', 'apiserver/schema', 'apiserver/storage', 'support'],
  },
  'apiserver/storage': {
    does: 'keeps objects, in memory or in a file, and the history of their changes',
    folders: ['apiserver/errors', 'apiserver/schema', 'support'],
    node: ['path', 'sqlite'],
  },
  'apiserver/selectors': {
    does: 'reads label and field selectors',
    folders: ['apiserver/errors', 'apiserver/kinds'],
  },
  'apiserver/ownership': {
    does: 'maintains `metadata.managedFields`: server-side apply, conflicts, the owner of each field',
    folders: ['apiserver/errors', 'apiserver/schema', 'support'],
    node: ['util'],
  },
  'apiserver/kinds': {
    does: 'defines Leases, LeaseCandidates, Events and namespaces: fields, validation, columns, versions',
    folders: ['apiserver/errors', 'apiserver/schema', 'coordination', 'support'],
    packages: ['@marcbachmann/cel-js', 'semver', 'yaml'],
    node: ['fs', 'module', 'util'],
  },
  'apiserver/access': {
    does: 'authenticates clients and checks their rights: tokens, certificates, access reviews',
    folders: ['apiserver/errors', 'apiserver/schema', 'support'],
    packages: ['asn1js', 'pkijs', 'yaml'],
    node: ['crypto', 'net'],
  },
  'apiserver/patch': {
    does: 'applies JSON patches, merge patches and strategic merge patches',
    folders: ['apiserver/errors', 'apiserver/schema', 'support'],
    node: ['util'],
  },
  'apiserver/errors': {
    does: 'defines the errors of an API server: Status objects and field errors',
  },
  'apiserver/schema': {
    does: 'describes fields as data, and decodes objects by that description',
    folders: ['support'],
  },
  support: {
    does: 'contains small helpers without election logic: clock, durations, JSON, files, addresses',
    node: ['crypto', 'events', 'fs', 'net', 'path', 'tty'],
  },
};
