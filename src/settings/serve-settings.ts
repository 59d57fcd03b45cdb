import { type ServedCandidates, servedCandidates } from '../coordination/candidate-sources.ts';
import { runSettings } from './run-settings.ts';
import {
  boundAddress,
  inGroup,
  option,
  type SettingsOf,
  settingsTable,
  text,
  type ValueType,
} from './settings-table.ts';

/** Versions of LeaseCandidate, separated by commas, or `none`. The parsed value has the order of `servedCandidates`. */
const versions: ValueType<readonly ServedCandidates[]> = {
  placeholder: '<versions>',
  parse(given) {
    if (given === 'none') return { value: [] };
    const named = given.split(',').map((word) => word.trim());
    const wrong = named.find((name) => !servedCandidates.some((version) => version === name));
    if (wrong === undefined) return { value: servedCandidates.filter((version) => named.includes(version)) };
    return { problem: `names ${wrong || 'nothing'}; give some of ${servedCandidates.join(',')}, or none` };
  },
};

const settings = {
  ...inGroup('Serving:', {
    listen: option('listen', boundAddress, {
      description:
        'the address to listen on; the host is required, so that the server is not exposed by mistake',
      default: '127.0.0.1:6443',
    }),
    tlsCertificate: option('tls-cert', text('<path>'), {
      description: "the server's certificate, followed by those of its issuers, in PEM",
      defaultNote: 'generated, and kept in the data directory',
    }),
    tlsKey: option('tls-key', text('<path>'), {
      description: "the certificate's private key in PEM",
      defaultNote: 'generated, and kept in the data directory',
    }),
    // If this option names no LeaseCandidate version of coordination.k8s.io, the server drops the fields strategy and
    // preferredHolder from each write of a Lease, but keeps a field that the stored Lease already has. kube-apiserver
    // does the same if its feature gate CoordinatedLeaderElection is off.
    leaseCandidateVersions: option('leasecandidate-versions', versions, {
      description:
        'versions of LeaseCandidate to serve; without a version of coordination.k8s.io, as with the feature gate off; "none" serves none',
      repeatable: true,
      default: servedCandidates.join(),
    }),
  }),
  ...inGroup('Keeping:', {
    dataDirectory: option('data-dir', text('<path>'), {
      description: 'store all objects and generated files in this directory',
      defaultNote: 'none, everything is kept in memory',
    }),
  }),
  ...inGroup('Access:', {
    tokens: option('tokens', text('<path>'), {
      description: 'file with the bearer tokens of clients',
      defaultNote: 'two tokens are generated, for all requests and for reads alone',
    }),
    kubeconfigOut: option('kubeconfig-out', text('<path>'), {
      description: "where to write the administrator's kubeconfig",
      defaultNote: 'in the data directory, or in a temporary one',
    }),
  }),
  logLevel: { ...runSettings.settings.logLevel, default: 'warn' },
};

export type ServeSettings = SettingsOf<typeof settings>;

export const serveSettings = settingsTable('CLE_SERVE', settings, ({ tlsCertificate, tlsKey }) => [
  (tlsCertificate === undefined) !== (tlsKey === undefined) &&
    '--tls-cert and --tls-key go together: give both, or neither to have a certificate generated',
]);
