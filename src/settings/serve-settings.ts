import { servedCandidates } from '../coordination/candidate-sources.ts';
import {
  boundAddress,
  inGroup,
  logLevel,
  noneOrSome,
  type SettingsOf,
  type SettingsTable,
  text,
} from './settings-table.ts';

const settings = {
  ...inGroup('Serving:', {
    listen: {
      flag: 'listen',
      placeholder: '<host:port>',
      default: '127.0.0.1:6443',
      description:
        'the address to listen on; the host is required, so that the server is not exposed by mistake',
      parse: boundAddress,
    },
    tlsCertificate: {
      flag: 'tls-cert',
      placeholder: '<path>',
      default: undefined,
      defaultNote: 'generated, and kept in the data directory',
      description: "the server's certificate, followed by those of its issuers, in PEM",
      parse: text,
    },
    tlsKey: {
      flag: 'tls-key',
      placeholder: '<path>',
      default: undefined,
      defaultNote: 'generated, and kept in the data directory',
      description: "the certificate's private key in PEM",
      parse: text,
    },
    // Without a version of coordination.k8s.io, Leases have neither strategy nor preferredHolder.
    leaseCandidateVersions: {
      flag: 'leasecandidate-versions',
      placeholder: '<versions>',
      repeatable: true,
      default: servedCandidates.join(),
      description:
        'versions of LeaseCandidate to serve; without a version of coordination.k8s.io, as with the feature gate off; "none" serves none',
      parse: noneOrSome(servedCandidates),
    },
  }),
  ...inGroup('Keeping:', {
    dataDirectory: {
      flag: 'data-dir',
      placeholder: '<path>',
      default: undefined,
      defaultNote: 'none, everything is kept in memory',
      description: 'store all objects and generated files in this directory',
      parse: text,
    },
  }),
  ...inGroup('Access:', {
    tokens: {
      flag: 'tokens',
      placeholder: '<path>',
      default: undefined,
      defaultNote: 'two tokens are generated, for all requests and for reads alone',
      description: 'file with the bearer tokens of clients',
      parse: text,
    },
    kubeconfigOut: {
      flag: 'kubeconfig-out',
      placeholder: '<path>',
      default: undefined,
      defaultNote: 'in the data directory, or in a temporary one',
      description: "where to write the administrator's kubeconfig",
      parse: text,
    },
  }),
  ...inGroup('Observation:', {
    logLevel: {
      flag: 'log-level',
      placeholder: '<level>',
      default: 'warn',
      description: 'debug, info, warn or error',
      parse: logLevel,
    },
  }),
};

export type ServeSettings = SettingsOf<typeof settings>;

export const serveSettings: SettingsTable<ServeSettings> = {
  envPrefix: 'CLE_SERVE',
  settings,
  contradictionsIn: ({ tlsCertificate, tlsKey }) =>
    (tlsCertificate === undefined) === (tlsKey === undefined)
      ? []
      : ['--tls-cert and --tls-key go together: give both, or neither to have a certificate generated'],
};
