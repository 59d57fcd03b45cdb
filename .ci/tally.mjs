// Adds up vitest's JSON reports and prints "N passed, N failed". Exits with 1 unless there were tests and all passed.
// What failed comes right before that line, since the end of a long output is what is kept of it.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

let passed = 0;
let failed = 0;
for (const path of process.argv.slice(2)) {
  const report = readReport(path);
  if (report === undefined) {
    console.log(`no report at ${path}: that test run did not come to its end`);
    failed += 1;
    continue;
  }
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  // A file that could not even be loaded has no tests that could have failed.
  failed += report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
  for (const file of report.testResults.filter(({ status }) => status === 'failed')) printFailures(file);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;

/** The failed tests of a file with the first lines of their errors; the file's own error where it was not loaded. */
function printFailures(file) {
  const path = relative(process.cwd(), file.name);
  const tests = file.assertionResults.filter((test) => test.status === 'failed');
  if (tests.length === 0) console.log(`FAILED ${path}\n${firstLines(file.message)}`);
  for (const test of tests) {
    console.log(`FAILED ${path} > ${test.fullName}\n${firstLines((test.failureMessages ?? []).join('\n'))}`);
  }
}

function firstLines(text = '') {
  return text
    .split('\n')
    .slice(0, 12)
    .map((line) => `    ${line}`)
    .join('\n');
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
