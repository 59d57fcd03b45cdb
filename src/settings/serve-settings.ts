import { servedCandidates } from '../coordination/candidate-sources.ts';
import {
  boundAddress,
  inGroup,
  logLevel,
  noneOrSome,
  option,
  type SettingsOf,
  type SettingsTable,
  text,
} from './settings-table.ts';

const settings = {
  ...inGroup('Serving:', {
    listen: option(
      'listen',
      boundAddress,
      'the address to listen on; the host is required, so that the server is not exposed by mistake',
      { default: '127.0.0.1:6443' },
    ),
    tlsCertificate: option(
      'tls-cert',
      text('<path>'),
      "the server's certificate, followed by those of its issuers, in PEM",
      { defaultNote: 'generated, and kept in the data directory' },
    ),
    tlsKey: option('tls-key', text('<path>'), "the certificate's private key in PEM", {
      defaultNote: 'generated, and kept in the data directory',
    }),
    // Without a version of coordination.k8s.io, Leases have neither strategy nor preferredHolder.
    leaseCandidateVersions: option(
      'leasecandidate-versions',
      noneOrSome('<versions>', servedCandidates),
      'versions of LeaseCandidate to serve; without a version of coordination.k8s.io, as with the feature gate off; "none" serves none',
      { repeatable: true, default: servedCandidates.join() },
    ),
  }),
  ...inGroup('Keeping:', {
    dataDirectory: option(
      'data-dir',
      text('<path>'),
      'store all objects and generated files in this directory',
      {
        defaultNote: 'none, everything is kept in memory',
      },
    ),
  }),
  ...inGroup('Access:', {
    tokens: option('tokens', text('<path>'), 'file with the bearer tokens of clients', {
      defaultNote: 'two tokens are generated, for all requests and for reads alone',
    }),
    kubeconfigOut: option('kubeconfig-out', text('<path>'), "where to write the administrator's kubeconfig", {
      defaultNote: 'in the data directory, or in a temporary one',
    }),
  }),
  ...inGroup('Observation:', {
    logLevel: option('log-level', logLevel, 'debug, info, warn or error', { default: 'warn' }),
  }),
};

export type ServeSettings = SettingsOf<typeof settings>;

export const serveSettings: SettingsTable<ServeSettings> = {
  envPrefix: 'CLE_SERVE',
  settings,
  contradictionsIn: ({ tlsCertificate, tlsKey }) => [
    (tlsCertificate === undefined) !== (tlsKey === undefined) &&
      '--tls-cert and --tls-key go together: give both, or neither to have a certificate generated',
  ],
};
