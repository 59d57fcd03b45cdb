import { demoSettings } from '../settings/demo-settings.ts';
import {
  auditSettings,
  doctorSettings,
  explainSettings,
  planSettings,
  statusSettings,
} from '../settings/inspection-settings.ts';
import { drainSettings, transferSettings, undrainSettings } from '../settings/moving-settings.ts';
import { contradictionsWith, participateSettings } from '../settings/participate-settings.ts';
import { runSettings } from '../settings/run-settings.ts';
import { serveSettings } from '../settings/serve-settings.ts';
import type { Contradictions, SettingsTable } from '../settings/settings-table.ts';
import type { Host } from '../support/host.ts';

/** The input of a command, read from the command line and the environment. */
export interface CommandInput<S> {
  readonly settings: S;
  /** The name of the Lease; empty for a command without this argument. */
  readonly lease: string;
  /** The program to run and its arguments, usually given after `--`; empty if the command line has none. */
  readonly program: readonly string[];
}

/** One command of the program. Its help, its completion and its environment variables are derived from this entry. */
export interface CommandEntry<S = unknown> {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  /** Examples and notes that the help of the command shows at the end. */
  readonly examples: string;
  /** The positional arguments; undefined if the command takes none. A program is optional, and usually follows `--`. */
  readonly takes?: 'lease' | 'lease and program';
  readonly settings: SettingsTable<S>;
  /** Returns the problems of settings that cannot be used together with a program. */
  contradictions?(input: CommandInput<S>): Contradictions;
  /** Imports and runs the code of the command. Resolves to an exit code, or to undefined for exit code 0. */
  run(input: CommandInput<S>, host: Host): Promise<number> | Promise<void>;
  /** True if the process exits soon after `run` settles, even if a DNS lookup or a credential plugin still runs. */
  readonly exitsSoon?: true;
}

/** The commands except `completion` and `help`, in the order of the help. To add a command, add an entry here. */
export const commands: readonly CommandEntry[] = [
  command({
    name: 'run',
    summary: 'coordinate leader elections on a cluster',
    description:
      'Watches LeaseCandidates, elects the best candidate for each Lease and writes the result, until a signal stops it.',
    examples: `  $ npm start -- run --kubeconfig ~/.kube/config --dry-run
  $ npm start -- run --namespace kube-system --namespace default
  $ CLE_LEASE_DURATION=15s npm start -- run --no-take-over

A flag overrules its environment variable, and both overrule the default. Durations: 500ms, 5s, 30m, 1h30m.`,
    settings: runSettings,
    run: async ({ settings }, host) =>
      (await import('../processes/coordinator-process.ts')).runCoordinator(settings, host),
    exitsSoon: true,
  }),
  command({
    name: 'serve',
    summary: 'serve the coordination API without Kubernetes',
    description:
      'Serves Leases and LeaseCandidates like a kube-apiserver, to kubectl and all other Kubernetes clients, until a ' +
      'signal stops it. It does not elect leaders: for that, start run with its kubeconfig, as for any cluster.',
    examples: `  $ npm start -- serve
  $ npm start -- serve --data-dir ./data --kubeconfig-out ./kubeconfig
  $ npm start -- serve --leasecandidate-versions v1alpha2 --listen 127.0.0.1:0

With kubectl: KUBECONFIG=./kubeconfig kubectl get leases,leasecandidates --all-namespaces`,
    settings: serveSettings,
    run: async ({ settings }, host) =>
      (await import('../processes/server-process.ts')).runServer(settings, host),
  }),
  command({
    name: 'demo',
    summary: 'see elections happen: a server, the coordinator and three sample candidates',
    description:
      'Starts a coordination API server, the coordinator and three sample candidates on one Lease, and shows what ' +
      'happens: on the status page, and in the terminal with keys to kill or pause the leader. Without a terminal, it ' +
      'prints lines.',
    examples: `  $ npm start                   with nothing configured this is the demo
  $ npm start -- --once    the scripted tour

It connects to no cluster: it starts its own server on a free port of this machine, and keeps no data. It prints how
to use kubectl with that server.`,
    settings: demoSettings,
    run: async ({ settings }, host) => (await import('../demo/run-demo.ts')).runDemo(settings, host),
  }),
  command({
    name: 'audit',
    summary: 'show the holder of every Lease in any cluster, and what a crash would cost',
    description:
      'Watches Leases for some time. Changes nothing in the cluster and needs nothing installed in it. Shows each Lease, ' +
      'the most severe findings first: the Pod of its holder, its elector, the interval of renewals, the time without ' +
      'a leader after a crash, and what to do. Does not show heartbeats of nodes and API servers.',
    examples: `  $ kubectl cle audit -A
  $ kubectl cle audit -n kube-system --for 2m -o wide
  $ kubectl cle audit -A --for 0s -o json

A crash costs the duration of the Lease, and one interval of renewals until a standby polls the Lease. If the interval
is unknown, the audit assumes client-go's 2 s. A participant watches the Lease, so there is no interval to add.
With 2 s, a standby of client-go polls every 2.0 to 4.4 s, at random, so a crash may cost some seconds more.
The audit needs list and watch on leases, and list on pods and leasecandidates. It says what is unknown without them.
Exit codes: 0 no problems, 3 errors, 4 warnings only.`,
    settings: auditSettings,
    run: async ({ settings }, host) => (await import('./audit.ts')).showAudit(settings, host),
  }),
  command({
    name: 'status',
    summary: 'show the leader of each Lease, and what the Lease waits for',
    description:
      'Shows every Lease with candidates, a strategy or a preferredHolder. It reads the cluster once: its times are ' +
      "computed from renewTimes and the server's clock.",
    examples:
      '  $ kubectl cle status -n kube-system\n  $ kubectl cle status -A -o wide\n  $ kubectl cle status -A --watch',
    settings: statusSettings,
    run: async ({ settings }, host) => (await import('./status.ts')).showStatus(settings, host),
  }),
  command({
    name: 'explain',
    summary: 'show why a Lease has this leader, and what would come next',
    description:
      "Judges one Lease by the coordinator's own rules: its candidates in order and why each lost, the strategy and " +
      'its origin, what would happen if the leader crashed now, and what blocks an election.',
    examples: '  $ kubectl cle explain kube-scheduler -n kube-system',
    takes: 'lease',
    settings: explainSettings,
    run: async ({ lease, settings }, host) =>
      (await import('./explain.ts')).showExplanation(lease, settings, host),
  }),
  command({
    name: 'plan',
    summary: 'show what an upgrade, a downgrade or a removal would do',
    description:
      'Simulates changes in virtual time, by the rules of the coordinator. Changes nothing in the cluster. The order is: ' +
      'new candidates, then priorities, then stopped candidates. Each change starts when the Lease is settled. ' +
      '--rollout shows, for each strategy, how often the leader changes in a rolling update.',
    examples:
      '  $ kubectl cle plan kube-scheduler -n kube-system --add scheduler-c=1.37.0/1.36.0 --remove scheduler-a\n' +
      '  $ kubectl cle plan web --priority web-2=100\n' +
      '  $ kubectl cle plan web --rollout web=2.1.0',
    takes: 'lease',
    settings: planSettings,
    run: async ({ lease, settings }, host) => (await import('./plan.ts')).showPlan(lease, settings, host),
  }),
  command({
    name: 'doctor',
    summary: 'examine a cluster, and show its problems and what to do',
    description:
      'Checks whether the server has the API and the feature gate is on, which coordinator is active, what these ' +
      'credentials may do, whether clocks agree, and whether candidates answer. Creates a Lease as a dry run only.',
    examples:
      '  $ kubectl cle doctor\n  $ kubectl cle doctor -o json\n\nExit codes: 0 no problems, 3 errors, 4 warnings only.',
    settings: doctorSettings,
    run: async ({ settings }, host) => (await import('./doctor.ts')).showDiagnosis(settings, host),
  }),
  command({
    name: 'transfer',
    summary: 'make a candidate the leader of a Lease, for some time',
    description:
      'Gives the candidate a priority above all others of the Lease, for a limited time, and waits until it leads. ' +
      'If it cannot lead, says why and changes nothing. undrain removes the priority.',
    examples:
      '  $ kubectl cle transfer web --to web-2\n  $ kubectl cle transfer web --to web-2 --for 15m\n\n' +
      'Exit codes: 0 it leads, 5 it does not.',
    takes: 'lease',
    settings: transferSettings,
    run: async ({ lease, settings }, host) =>
      (await import('./move-leaders.ts')).runTransfer(lease, settings, host),
  }),
  command({
    name: 'drain',
    summary: 'move leaders off a node, a zone or a candidate, for some time',
    description:
      'Gives the candidates a priority below all others, for a limited time, and waits until other candidates lead ' +
      'their Leases. If no other candidate can lead, reports that the leader stays. undrain removes the priority.',
    examples:
      '  $ kubectl cle drain -A --selector topology.kubernetes.io/zone=b\n' +
      '  $ kubectl cle drain -A --node worker-3 --for 30m\n' +
      '  $ kubectl cle drain --candidate web-0\n\n' +
      'Exit codes: 0 all leaders have moved, 5 some have not.',
    settings: drainSettings,
    run: async ({ settings }, host) => (await import('./move-leaders.ts')).runDrain(settings, host),
  }),
  command({
    name: 'undrain',
    summary: 'remove the priorities that drain and transfer have set',
    description:
      'Removes the priorities that drain and transfer have set, and no others. What was set before them counts again.',
    examples:
      '  $ kubectl cle undrain -A --selector topology.kubernetes.io/zone=b\n  $ kubectl cle undrain -A --all',
    settings: undrainSettings,
    run: async ({ settings }, host) => (await import('./move-leaders.ts')).runUndrain(settings, host),
  }),
  command({
    name: 'participate',
    summary: 'take part in an election for a program, as its wrapper or its sidecar',
    description:
      'Publishes a candidate for a Lease. With a command after --, runs the command only while this candidate leads. ' +
      'Without a command, serves the name of the leader to a program in the same pod, by HTTP.',
    examples: `  $ coordinated-leader-election participate web -- node server.js    runs while this pod leads
  $ coordinated-leader-election participate web                      a sidecar: curl http://127.0.0.1:4040/leader
  $ coordinated-leader-election participate web --candidate-only --identity "$POD_NAME"

The command has the environment variables CLE_LEASE, CLE_HOLDER and CLE_FENCING_TOKEN.
Exit codes: the command's; 128 plus the number of the signal that ended it; 126 if it is not executable; 127 if it does
not exist; 0 if the candidate was stopped before the command started.`,
    takes: 'lease and program',
    settings: participateSettings,
    contradictions: ({ program, settings }) => contradictionsWith(program, settings),
    async run({ lease, program, settings }, host) {
      const { runParticipant } = await import('../processes/participant/participant-process.ts');
      return await runParticipant(lease, program, settings, host);
    },
    exitsSoon: true,
  }),
];

/** Lets TypeScript check an entry with the type of its own settings. Returns the entry as an element of `commands`. */
function command<S>(entry: CommandEntry<S>): CommandEntry {
  return entry as CommandEntry;
}
