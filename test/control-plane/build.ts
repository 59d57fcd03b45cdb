// Builds the programs of the control planes in advance: `node test/control-plane/build.ts`; with names, only those.
import { parseArgs } from 'node:util';
import { type BinaryName, binary, binaryNames } from './binaries.ts';

function isBinaryName(name: string): name is BinaryName {
  return (binaryNames as readonly string[]).includes(name);
}

async function buildAll(names: readonly string[]): Promise<void> {
  const unknown = names.filter((name) => !isBinaryName(name));
  if (unknown.length > 0) {
    throw new Error(`unknown program ${unknown.join(', ')}: the known ones are ${binaryNames.join(', ')}`);
  }
  const wanted = names.length > 0 ? names.filter(isBinaryName) : binaryNames;
  for (const name of wanted) {
    const start = performance.now();
    console.log(`${name}: building unless cached`);
    const path = await binary(name);
    console.log(`${name}: ${path} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  }
}

try {
  await buildAll(parseArgs({ allowPositionals: true }).positionals);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
