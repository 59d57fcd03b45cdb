// `npm run simulate -- [options]` runs seeds. `npm run simulate -- mutants [options]` breaks the program, and checks
// that seeds notice.
import { runNamed } from '../support/named-programs.ts';

runNamed(
  {
    seeds: { file: new URL('./simulate.ts', import.meta.url) },
    mutants: { file: new URL('./mutants/main.ts', import.meta.url) },
  },
  ['seeds'],
);
