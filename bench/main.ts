// Runs a bench by name: `npm run bench -- NAME [options]`. The default is the bench of coordinators.
import { type NamedProgram, runNamed } from '../test/support/named-programs.ts';

const benchIn = (name: string): NamedProgram => ({ file: new URL(`./${name}.ts`, import.meta.url) });

runNamed(
  {
    coordinators: { ...benchIn('coordinators'), needsBuild: true },
    'api-server': benchIn('api-server'),
    decisions: benchIn('decisions'),
    events: benchIn('events'),
    figures: benchIn('figures'),
    'hand-overs': benchIn('hand-overs'),
    lead: benchIn('lead'),
    memory: { ...benchIn('memory'), needsBuild: true, nodeArgs: ['--expose-gc'] },
    scale: benchIn('scale'),
    sidecar: { ...benchIn('sidecar'), needsBuild: true },
    'status-page': benchIn('status-page'),
  },
  ['coordinators'],
);
