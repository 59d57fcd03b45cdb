import { stringify } from 'yaml';

/** An archive of the plugin. */
export interface PluginArchive {
  /** As in Go: `linux-amd64`. */
  readonly platform: string;
  readonly file: string;
  readonly sha256: string;
}

/** The manifest by which `kubectl krew` finds and installs the plugin `cle`. `downloads` is where the archives are. */
export function krewManifest(
  release: { readonly version: string; readonly repository: string; readonly downloads: string },
  archives: readonly PluginArchive[],
): string {
  const { version, repository, downloads } = release;
  return stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'cle' },
      spec: {
        version: `v${version}`,
        homepage: repository,
        shortDescription: 'Audit, explain and move elected leaders',
        description: `Shows the Leases of leader elections in any cluster: who leads, why, and what a crash would cost.
With the coordinated-leader-election controller, it also moves leaders, and shows the effect of
an upgrade before you start it. "kubectl cle audit -A" needs nothing installed in the cluster.
`,
        platforms: archives.map(({ platform, file, sha256 }) => {
          const [os, arch] = platform.split('-');
          return {
            selector: { matchLabels: { os, arch } },
            uri: `${downloads}/${file}`,
            sha256,
            bin: 'kubectl-cle',
          };
        }),
      },
    },
    { lineWidth: 0 },
  );
}
