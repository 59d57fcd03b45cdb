import { type ServedCandidates, servedCandidates } from '../coordination/candidate-sources.ts';
import type { ListenAddress } from '../support/address.ts';
import {
  boundAddress,
  type LogLevel,
  logLevel,
  noneOrSome,
  type SettingsTable,
  text,
} from './settings-table.ts';

export interface ServeSettings {
  readonly listen: ListenAddress;
  /** Undefined to keep everything in memory. */
  readonly dataDirectory: string | undefined;
  /** Path of a PEM file. The certificate and the key are set together or not at all. */
  readonly tlsCertificate: string | undefined;
  readonly tlsKey: string | undefined;
  /** Path of a token file; undefined to generate tokens. */
  readonly tokens: string | undefined;
  /** Path for the administrator's kubeconfig; undefined for the default path. */
  readonly kubeconfigOut: string | undefined;
  /** Without a version of coordination.k8s.io, Leases have neither strategy nor preferredHolder. */
  readonly leaseCandidateVersions: readonly ServedCandidates[];
  readonly logLevel: LogLevel;
}

const settings: SettingsTable<ServeSettings>['settings'] = {
  listen: {
    flag: 'listen',
    placeholder: '<host:port>',
    default: '127.0.0.1:6443',
    description: 'where to serve; a host that others can reach has to be named',
    group: 'Serving:',
    parse: boundAddress,
  },
  tlsCertificate: {
    flag: 'tls-cert',
    placeholder: '<path>',
    default: undefined,
    defaultNote: 'generated, and kept in the data directory',
    description: "the server's certificate, with those that vouch for it, in PEM",
    group: 'Serving:',
    parse: text,
  },
  tlsKey: {
    flag: 'tls-key',
    placeholder: '<path>',
    default: undefined,
    defaultNote: 'generated, and kept in the data directory',
    description: "the certificate's private key in PEM",
    group: 'Serving:',
    parse: text,
  },
  leaseCandidateVersions: {
    flag: 'leasecandidate-versions',
    placeholder: '<versions>',
    repeatable: true,
    default: servedCandidates.join(),
    description:
      'versions of LeaseCandidate to serve; without one of Kubernetes it is a server with the feature gate off, "none" serves none at all',
    group: 'Serving:',
    parse: noneOrSome(servedCandidates),
  },
  dataDirectory: {
    flag: 'data-dir',
    placeholder: '<path>',
    default: undefined,
    defaultNote: 'none, everything is kept in memory',
    description: 'keep all objects, and what is generated, in this directory',
    group: 'Keeping:',
    parse: text,
  },
  tokens: {
    flag: 'tokens',
    placeholder: '<path>',
    default: undefined,
    defaultNote: 'one that may do everything and one that may only read are generated',
    description: 'file of the bearer tokens that are let in',
    group: 'Access:',
    parse: text,
  },
  kubeconfigOut: {
    flag: 'kubeconfig-out',
    placeholder: '<path>',
    default: undefined,
    defaultNote: 'in the data directory, or in a temporary one',
    description: "where to write the administrator's kubeconfig",
    group: 'Access:',
    parse: text,
  },
  logLevel: {
    flag: 'log-level',
    placeholder: '<level>',
    default: 'warn',
    description: 'debug, info, warn or error',
    group: 'Observation:',
    parse: logLevel,
  },
};

export const serveSettings: SettingsTable<ServeSettings> = {
  envPrefix: 'CLE_SERVE',
  settings,
  contradictionsIn: ({ tlsCertificate, tlsKey }) =>
    (tlsCertificate === undefined) === (tlsKey === undefined)
      ? []
      : ['--tls-cert and --tls-key go together: give both, or neither to have a certificate generated'],
};
