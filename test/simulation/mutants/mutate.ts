import { registerHooks } from 'node:module';
import { MUTANTS } from './mutants.ts';

/* Loaded before a worker's first module. Applies the mutant that CLE_MUTANT names. */

const SOURCE = new URL('../../../src/', import.meta.url).href;
const name = process.env['CLE_MUTANT'];
const mutant = MUTANTS.find((one) => one.name === name);
if (!mutant) throw new Error(`there is no mutant "${name}"`);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const edits = mutant.edits.filter(({ file }) => url === `${SOURCE}${file}`);
    if (edits.length === 0) return loaded;
    let source = String(loaded.source);
    for (const { find, put } of edits) source = source.replace(find, () => put);
    return { ...loaded, source };
  },
});
