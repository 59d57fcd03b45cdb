import { importMatrix } from './import-matrix.ts';
import { importProblems, repository } from './imports.ts';

const problems = await importProblems(repository, importMatrix);
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(
    '\nlint/import-matrix.ts says what each folder of src/ may import, and docs/contributing/architecture.md why.',
  );
  process.exitCode = 1;
}
