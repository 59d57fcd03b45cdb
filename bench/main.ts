import { type NamedProgram, runNamed } from '../test/support/named-programs.ts';

const bench = (name: string, does: string): NamedProgram => ({
  does,
  file: new URL(`./${name}.ts`, import.meta.url),
});

// The first comment of each program describes its options.
runNamed(
  'npm run bench',
  {
    coordinators: {
      ...bench(
        'coordinators',
        'compares elections with the limit and the built-in controller; --quick: 5 minutes',
      ),
      needsBuild: true,
    },
    'api-server': bench('api-server', 'compares the embedded API server with kube-apiserver'),
    decisions: bench('decisions', 'measures the processor time of a decision, by number of candidates'),
    events: bench('events', 'measures the processor time of an event that changes nothing'),
    figures: bench('figures', 'measures coordinators at full scale, in an hour'),
    'hand-overs': bench('hand-overs', 'measures hand-overs: any-cluster, participants, operators or crashes'),
    lead: bench('lead', 'measures crashes of programs that lead by a connection'),
    memory: {
      ...bench('memory', 'measures the memory of a coordinator'),
      needsBuild: true,
      nodeArgs: ['--expose-gc'],
    },
    scale: bench('scale', 'measures the events, writes and elections that one coordinator can handle'),
    sidecar: {
      ...bench('sidecar', 'compares the sidecar with a program that uses client-go'),
      needsBuild: true,
    },
    'status-page': bench('status-page', 'measures the status page with 10,000 Leases'),
  },
  ['coordinators'],
);
