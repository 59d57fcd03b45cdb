import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/**
 * Writes `file`, an archive of the plugin for one platform: a launcher, Node, and the program. `app` is the folder /app of the
 * image, which is the same for all platforms. `node` is an unpacked Node of the platform.
 */
export function writePluginArchive(file: string, app: string, node: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'plugin-'));
  try {
    // krew unpacks no links. The commands of the dependencies are the only ones.
    cpSync(app, join(folder, 'app'), { recursive: true, filter: (path) => basename(path) !== '.bin' });
    // The name of the file is the name under which the program was started.
    writeFileSync(join(folder, 'app/dist/kubectl-cle'), "import './main.js';\n");
    cpSync(join(node, 'bin/node'), join(folder, 'node'));
    cpSync(join(node, 'LICENSE'), join(folder, 'LICENSE-node'));
    cpSync(join(app, 'LICENSE'), join(folder, 'LICENSE'));
    cpSync(join(import.meta.dirname, 'kubectl-cle'), join(folder, 'kubectl-cle'));
    for (const program of ['kubectl-cle', 'node']) chmodSync(join(folder, program), 0o755);
    // The same files make the same archive.
    const stable = [
      '--sort=name',
      '--mtime=@0',
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '--format=ustar',
    ];
    const compress = '--use-compress-program=gzip --no-name';
    execFileSync('tar', [...stable, compress, '--create', '--file', file, '--directory', folder, '.']);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
