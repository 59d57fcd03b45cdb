import { runNamed } from '../support/named-programs.ts';

runNamed(
  'npm run simulate',
  {
    seeds: {
      does: 'runs seeds: --seeds N, --from K, or one with --seed S; more with `seeds --help`',
      file: new URL('./simulate.ts', import.meta.url),
    },
    mutants: {
      does: 'breaks the program, and checks that seeds notice; more with `mutants --help`',
      file: new URL('./mutants/main.ts', import.meta.url),
    },
  },
  ['seeds'],
);
