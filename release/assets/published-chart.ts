import type { TextFile } from '../version-places.ts';

/** Where a release is published. */
export interface Publication {
  readonly version: string;
  /** `https://github.com/owner/name` */
  readonly repository: string;
  /** `ghcr.io/owner/name`, without a tag. */
  readonly image: string;
  /** `sha256:…` of the image for all platforms. */
  readonly digest: string;
  /** `oci://ghcr.io/owner/charts`, without the chart's name. */
  readonly charts: string;
}

/** The chart's file as it is published: with the image of the release as its default, and with links to the repository. */
export function publishedChartFile({ path, text }: TextFile, publication: Publication): string {
  const { image, digest } = publication;
  if (path === 'values.yaml') {
    return replaceEach(text, [
      ['\n  repository: coordinated-leader-election\n', `\n  repository: ${image}\n`],
      ['\n  digest: ""\n', `\n  digest: ${digest}\n`],
    ]);
  }
  return path === 'README.md' ? publishedReadme(text, publication) : text;
}

function publishedReadme(text: string, publication: Publication): string {
  const { version, repository, image, digest, charts } = publication;
  const name = 'coordinated-leader-election';
  return replaceEach(text, [
    [
      `helm install ${name} charts/${name} --namespace kube-system \\\n  --set image.repository=<registry>/${name}\n`,
      `helm install ${name} ${charts}/${name} --version ${version} --namespace kube-system\n`,
    ],
    [`| \`image.repository\` | \`"${name}"\` |`, `| \`image.repository\` | \`"${image}"\` |`],
    ['| `image.digest` | `""` |', `| \`image.digest\` | \`"${digest}"\` |`],
    ['](../../', `](${repository}/blob/v${version}/`],
  ]);
}

/** The objects of deploy/coordinator.yaml, with the image of the release. */
export function installManifest(text: string, { version, image, digest }: Publication): string {
  const line = (reference: string) => `          image: ${reference}\n`;
  return replaceEach(text, [[line(`coordinated-leader-election:${version}`), line(`${image}@${digest}`)]]);
}

/** @throws Error if a text to replace is missing, so that no release goes out with the image of a clone. */
function replaceEach(text: string, pairs: readonly (readonly [found: string, wanted: string])[]): string {
  return pairs.reduce((result, [found, wanted]) => {
    if (!result.includes(found)) throw new Error(`not found, so it cannot be replaced: ${found.trim()}`);
    return result.replaceAll(found, () => wanted);
  }, text);
}
