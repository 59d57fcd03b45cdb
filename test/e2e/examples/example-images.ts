import { execFile } from 'node:child_process';
import { copyFile, mkdir, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { binary } from '../../control-plane/binaries.ts';
import type { Image } from '../process-kubelet/container-process.ts';
import { ourImage } from '../process-kubelet.ts';

const repository = new URL('../../../', import.meta.url).pathname;
const programs = dirname(process.execPath);
const run = promisify(execFile);

/** Programs import the package by its name: here it is this working tree. */
const ownPackage = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
const url = ${JSON.stringify(new URL('../../../src/index.ts', import.meta.url).href)};
registerHooks({
  resolve: (name, context, next) =>
    name === 'coordinated-leader-election' ? { url, shortCircuit: true } : next(name, context),
});
`)}`;

/** The images of examples/. `folder` contains their parts, and outlives the pods. */
export async function exampleImages(folder: string): Promise<(name: string) => Image | undefined> {
  const app = await builtProgram(join(folder, 'app'));
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
    if (!ourImage(name)) return images[name];
    return { entrypoint: [process.execPath, '/app/dist/main.js'], programs, folders: { '/app': app } };
  };
}

/**
 * The image of this project has the built program at /app, from which an init container of an example copies it. It
 * is also built here: Node reads TypeScript with WebAssembly, which sidecars do not have.
 */
async function builtProgram(app: string): Promise<string> {
  await mkdir(app);
  await copyFile(join(repository, 'package.json'), join(app, 'package.json'));
  await symlink(join(repository, 'node_modules'), join(app, 'node_modules'));
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
  const args = ['--project', join(repository, 'tsconfig.build.json'), '--outDir', join(app, 'dist')];
  await run(process.execPath, [join(dirname(compiler), 'bin/tsc'), ...args]);
  return app;
}
