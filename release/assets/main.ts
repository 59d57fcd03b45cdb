// Makes the files of a release from a checkout of its tag. .github/workflows/release.yml publishes them:
//   node release/assets/main.ts --out FOLDER --image ghcr.io/owner/name@sha256:… --charts oci://ghcr.io/owner/charts
//     --app FOLDER --node linux-amd64=FOLDER … [--helm PROGRAM]
// `--app` is /app of the image, `--node` an unpacked Node for each platform of the plugin.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { krewManifest, type PluginArchive } from './krew-manifest.ts';
import { writePluginArchive } from './plugin-archive.ts';
import { installManifest, type Publication, publishedChartFile } from './published-chart.ts';

const repository = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(repository, path), 'utf8');

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    image: { type: 'string' },
    charts: { type: 'string' },
    app: { type: 'string' },
    node: { type: 'string', multiple: true, default: [] },
    helm: { type: 'string', default: 'helm' },
  },
});

const out = resolve(required('out'));
const [image = '', digest = ''] = required('image').split('@');
if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error('--image must end with @sha256:… of the image');
const publication: Publication = {
  version: manifest.version,
  repository: manifest.repository.url.replace(/^git\+|\.git$/g, ''),
  charts: required('charts'),
  image,
  digest,
};

mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'install.yaml'), installManifest(read('deploy/coordinator.yaml'), publication));
copyFileSync(join(repository, 'deploy/crd.yaml'), join(out, 'crd.yaml'));
packageChart();
const archives = values.node.map((each) => writeArchive(each, required('app')));
const downloads = `${publication.repository}/releases/download/v${publication.version}`;
writeFileSync(join(out, 'cle.yaml'), krewManifest({ ...publication, downloads }, archives));
const sums = readdirSync(out)
  .sort()
  .map((file) => `${sha256(join(out, file))}  ${file}\n`);
writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));

function required(name: 'app' | 'charts' | 'image' | 'out'): string {
  const value = values[name];
  if (value === undefined)
    throw new Error(`--${name} is missing; the first comment of this file says what to give`);
  return value;
}

/** Packages a copy of the chart whose default image is that of the release. */
function packageChart(): void {
  const folder = mkdtempSync(join(tmpdir(), 'chart-'));
  const chart = join(folder, 'coordinated-leader-election');
  try {
    cpSync(join(repository, 'charts/coordinated-leader-election'), chart, { recursive: true });
    for (const path of ['values.yaml', 'README.md']) {
      const text = readFileSync(join(chart, path), 'utf8');
      writeFileSync(join(chart, path), publishedChartFile({ path, text }, publication));
    }
    execFileSync(values.helm, ['package', chart, '--destination', out], { stdio: 'inherit' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function writeArchive(platformAndNode: string, app: string): PluginArchive {
  const [platform = '', node = ''] = platformAndNode.split('=');
  const file = `kubectl-cle-${platform}.tar.gz`;
  writePluginArchive(join(out, file), app, node);
  return { platform, file, sha256: sha256(join(out, file)) };
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
