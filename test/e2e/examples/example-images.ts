import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { binary } from '../../control-plane/binaries.ts';
import type { Image } from '../process-kubelet/container-process.ts';
import { ourImage } from '../process-kubelet.ts';

const repository = new URL('../../../', import.meta.url).pathname;
const programs = dirname(process.execPath);

/** Programs import the package by its name: here it is this working tree. */
const ownPackage = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
const url = ${JSON.stringify(new URL('../../../src/index.ts', import.meta.url).href)};
registerHooks({
  resolve: (name, context, next) =>
    name === 'coordinated-leader-election' ? { url, shortCircuit: true } : next(name, context),
});
`)}`;

/** What the images of examples/ hold. `folder` is for what they are made of, and outlives the pods. */
export async function exampleImages(folder: string): Promise<(name: string) => Image | undefined> {
  // The image of this project has the program at /app, where an init container of an example copies it from.
  const app = join(folder, 'app');
  await mkdir(join(app, 'dist'), { recursive: true });
  await writeFile(join(app, 'package.json'), '{ "type": "module" }\n');
  await writeFile(join(app, 'dist/main.js'), `import '${join(repository, 'src/main.ts')}';\n`);
  const operator = await binary('tenant-operator');
  const images: Readonly<Record<string, Image>> = {
    'registry.example.com/checkout:1.4.2': {
      entrypoint: [process.execPath, '--import', ownPackage, '/app/worker.ts'],
      programs,
      folders: { '/app': join(repository, 'examples/node') },
    },
    'registry.example.com/tenant-operator:1.4.2': { entrypoint: [operator], programs: dirname(operator) },
    'docker.io/library/python:3.13-slim': { entrypoint: [], programs: '/usr/bin' },
    'docker.io/library/debian:bookworm-slim': { entrypoint: [], programs: '/usr/bin' },
  };
  return (name) => {
    const ours = ourImage(name);
    return ours ? { ...ours, folders: { '/app': app } } : images[name];
  };
}
