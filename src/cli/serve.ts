import type { Command } from 'commander';
import { type ServeSettings, serveSettings } from '../settings/serve-settings.ts';
import type { Invocation } from './invocation.ts';
import { plainCommand } from './settings-command.ts';

const EXAMPLES = `  $ npm start -- serve
  $ npm start -- serve --data-dir ./data --kubeconfig-out ./kubeconfig
  $ npm start -- serve --leasecandidate-versions v1alpha2 --listen 127.0.0.1:0

With kubectl: KUBECONFIG=./kubeconfig kubectl get leases,leasecandidates --all-namespaces`;

/** The `serve` command: reads and validates its settings, then hands them to `serve`. */
export function serveCommand(
  invocation: Invocation,
  serve: (settings: ServeSettings) => Promise<number>,
): Command {
  return plainCommand(
    {
      name: 'serve',
      summary: 'serve the coordination API without Kubernetes',
      description:
        'Serves Leases and LeaseCandidates as a kube-apiserver does, to kubectl and every client of Kubernetes, until it ' +
        'is told to stop. It elects nobody by itself: run does, pointed at it like at any cluster.',
      examples: EXAMPLES,
      table: serveSettings,
      invocation,
    },
    serve,
  );
}
