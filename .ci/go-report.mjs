// Reads the events of runs of `go test -json`, prints the output of what failed and a line of figures, and writes a report in the
// form of vitest's, for tally.mjs: `node go-report.mjs EVENTS... [--report FILE]`. A test's name begins with that of its file of
// events. Exits with 1 unless each run had tests and all passed.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { report: { type: 'string' } },
});
const outputs = new Map();
const results = new Map();
for (const path of positionals) {
  for (const line of readFileSync(path, 'utf8').split('\n')) read(line, basename(path));
}
const failed = [...results].filter(([, hasPassed]) => !hasPassed).map(([name]) => name);
// A test fails with its subtest, and a package with its test: the innermost counts.
const failures = failed.filter((name) => !failed.some((other) => other !== name && isWithin(other, name)));
for (const name of failed) if (!failures.includes(name)) results.delete(name);
for (const name of failures) console.log(`FAILED ${name}\n${outputs.get(name) ?? ''}`);
const passed = results.size - failures.length;
console.log(`${passed} passed, ${failures.length} failed`);
if (values.report) writeFileSync(values.report, JSON.stringify(reportOf(passed, failures)));
const isEmpty = positionals.some(
  (path) => ![...results.keys()].some((name) => isWithin(name, basename(path))),
);
process.exitCode = !isEmpty && failures.length === 0 ? 0 : 1;

function read(line, run) {
  // Errors of a build may come as plain text.
  const event = line.startsWith('{') ? JSON.parse(line) : { Action: 'output', Output: `${line}\n` };
  const name = [run, event.Package ?? event.ImportPath ?? 'build', event.Test].filter(Boolean).join(' > ');
  if (event.Action.endsWith('output')) outputs.set(name, (outputs.get(name) ?? '') + event.Output);
  if (event.Action === 'pass' && event.Test) results.set(name, true);
  if (event.Action === 'fail' || event.Action === 'build-fail') results.set(name, false);
  // No test is skipped silently. (A package without tests is.)
  if (event.Action === 'skip' && event.Test) results.set(name, false);
}

function isWithin(inner, outer) {
  return inner.startsWith(`${outer} > `) || inner.startsWith(`${outer}/`);
}

function reportOf(numPassedTests, names) {
  const assertionResults = names.map((fullName) => ({
    status: 'failed',
    fullName,
    failureMessages: [outputs.get(fullName) ?? ''],
  }));
  const file = { name: 'clients/go', status: names.length > 0 ? 'failed' : 'passed', assertionResults };
  return { numPassedTests, numFailedTests: names.length, testResults: [file] };
}
