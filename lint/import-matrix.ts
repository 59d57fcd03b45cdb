/** What the code of one folder of src/ is for, and all that it may import besides its own files. */
export interface Room {
  /** Completes "this folder ...". */
  readonly does: string;
  /** Folders of src/, each without those below it. */
  readonly rooms?: readonly string[];
  /** Packages of npm. */
  readonly packages?: readonly string[];
  /** Modules of Node, without `node:`. */
  readonly node?: readonly string[];
}

/**
 * Who may import whom in src/: what is not named here is forbidden, and what is named here is needed. `main.ts`, `index.ts` and
 * `election-library.ts` are rooms of their own. No room imports, directly or by way of others, one that imports it.
 */
export const importMatrix: Readonly<Record<string, Room>> = {
  'main.ts': {
    does: 'starts the program; the only reader of argv, env, signals and the real clock',
    rooms: ['cli', 'support'],
    node: ['path'],
  },
  'index.ts': {
    does: 'is what the package exports: taking part in an election',
    rooms: ['kubernetes', 'participant', 'support'],
  },
  'election-library.ts': {
    does: 'is what the package exports as `coordinated-leader-election/election`: the pure election',
    rooms: ['coordination', 'election', 'kubernetes'],
  },
  cli: {
    does: 'reads the command line, has the table of all commands, and prints the results of those that inspect a cluster',
    rooms: [
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
    node: ['fs', 'util'],
  },
  demo: {
    does: 'shows an election in a terminal and a browser: an API server, the coordinator, sample candidates',
    rooms: [
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
    does: 'puts together what a command runs: the coordinator, the embedded API server, health and metrics endpoints',
    rooms: [
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
    does: 'is what takes part in elections for other programs: a command that runs while it leads, or a program that is told who leads',
    rooms: ['kubernetes', 'participant', 'processes', 'settings', 'support', 'telemetry'],
    packages: ['prom-client'],
    node: ['child_process', 'fs', 'http', 'os', 'path'],
  },
  'status-page': {
    does: 'serves a page that shows what a coordinator knows: the model and the stream',
    rooms: [
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
  'status-page/page': { does: 'is that page: the only code for browsers' },
  telemetry: {
    does: 'writes logs, metrics and Events of what it is told; nothing about an election waits for it',
    rooms: ['controller', 'controller/lock', 'coordination', 'election', 'kubernetes', 'settings', 'support'],
    packages: ['pino', 'prom-client'],
  },
  moving: {
    does: 'sets priorities and follows what comes of them, for `transfer`, `drain` and `undrain`',
    rooms: ['coordination', 'election', 'inspection', 'kubernetes', 'support'],
  },
  inspection: {
    does: 'looks at a cluster, for `audit`, `status`, `explain`, `plan` and `doctor`, with the controller’s own code',
    rooms: ['controller', 'controller/lock', 'coordination', 'election', 'kubernetes', 'settings', 'support'],
    packages: ['yaml'],
  },
  controller: {
    does: 'gathers what is known, has it decided, applies the decision, and records what came of it; decides nothing itself',
    rooms: [
      'controller/leader-label',
      'controller/lock',
      'coordination',
      'election',
      'kubernetes',
      'support',
    ],
    node: ['crypto', 'os'],
  },
  'controller/leader-label': {
    does: 'keeps a label on the Pod of each leader, beside all that elections need',
    rooms: ['controller/lock', 'coordination', 'election', 'kubernetes', 'support'],
  },
  'controller/lock': {
    does: 'holds the Lease by which one coordinator at a time may write',
    rooms: ['coordination', 'kubernetes', 'support'],
  },
  participant: {
    does: 'takes part in an election: publishes a LeaseCandidate, and leads while it is given the Lease',
    rooms: ['coordination', 'election', 'kubernetes', 'support'],
    packages: ['prom-client'],
    node: ['os'],
  },
  settings: {
    does: 'has the settings of every command: flag, environment variable, default and validation in one place',
    rooms: ['coordination', 'election', 'support'],
  },
  kubernetes: {
    does: 'talks to an API server: client, reflector, discovery, kubeconfig; does not know what for',
    rooms: ['support'],
    packages: ['@kubernetes/client-node', 'socks', 'yaml'],
    node: [
      'async_hooks',
      'child_process',
      'crypto',
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
      'zlib',
    ],
  },
  coordination: {
    does: 'reads Leases and LeaseCandidates of every served version into one model, and writes patches to them',
    rooms: ['election', 'kubernetes', 'support'],
  },
  election: {
    does: 'decides: pure functions of an input and the time, without I/O, clock, logger or promise',
    rooms: ['support'],
    packages: ['semver'],
  },
  apiserver: {
    does: 'serves the coordination API without Kubernetes; knows no controller',
    rooms: [
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
    does: 'answers what the server is and has: API groups, OpenAPI, health, version',
    rooms: [
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
    does: 'reads a request whole and writes its answer: routing, formats, connections',
    rooms: [
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
    rooms: [
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
    does: 'tells watchers what has changed: positions in one shared, bounded history',
    rooms: ['apiserver/errors', 'apiserver/schema', 'apiserver/storage', 'support'],
  },
  'apiserver/storage': {
    does: 'keeps objects, in memory or in a file, and the history of their changes',
    rooms: ['apiserver/errors', 'apiserver/schema', 'support'],
    node: ['path', 'sqlite'],
  },
  'apiserver/selectors': {
    does: 'reads label and field selectors',
    rooms: ['apiserver/errors', 'apiserver/kinds'],
  },
  'apiserver/ownership': {
    does: 'keeps metadata.managedFields: server-side apply, conflicts, who owns which field',
    rooms: ['apiserver/errors', 'apiserver/schema', 'support'],
    node: ['util'],
  },
  'apiserver/kinds': {
    does: 'says what Leases, LeaseCandidates, Events and namespaces are: fields, validation, columns, versions',
    rooms: ['apiserver/errors', 'apiserver/schema', 'coordination', 'support'],
    packages: ['@marcbachmann/cel-js', 'semver', 'yaml'],
    node: ['fs', 'module', 'util'],
  },
  'apiserver/access': {
    does: 'tells who asks and what they may do: tokens, certificates, access reviews',
    rooms: ['apiserver/errors', 'apiserver/schema', 'support'],
    packages: ['asn1js', 'pkijs', 'yaml'],
    node: ['crypto', 'net'],
  },
  'apiserver/patch': {
    does: 'applies JSON patches, merge patches and strategic merge patches',
    rooms: ['apiserver/errors', 'apiserver/schema', 'support'],
    node: ['util'],
  },
  'apiserver/errors': {
    does: 'has the refusals of an API server: Status objects and field errors',
  },
  'apiserver/schema': {
    does: 'describes fields as data, and reads objects by that description',
    rooms: ['support'],
  },
  support: {
    does: 'has small things that know nothing of elections: clock, durations, JSON, files, addresses',
    node: ['crypto', 'fs', 'net', 'path', 'tty'],
  },
};
