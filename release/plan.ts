import { SemVer, valid } from 'semver';
import { unreleasedChanges, withRelease } from './changelog.ts';
import { type TextFile, withVersion } from './version-places.ts';

const GO_MODULE = 'clients/go/go.mod';

/** What is known of the clone that a release is made in. */
export interface Checkout {
  /** That of package.json. */
  readonly version: string;
  /** `https://github.com/owner/name`, as package.json has it. */
  readonly repository: string;
  /** Whether everything is committed. */
  readonly isClean: boolean;
  readonly tags: readonly string[];
  /** All text files; they are not asked for where not everything is committed. */
  readonly files: readonly TextFile[];
}

/** What a release consists of. */
export interface ReleasePlan {
  /** The files that change, as they are to be. */
  readonly changed: readonly TextFile[];
  readonly message: string;
  /** That of the release, and that of the Go module in `clients/go`. */
  readonly tags: readonly string[];
}

/** A release that cannot be made; the message has all reasons, one on each line. */
export class ReleaseRefusal extends Error {
  override readonly name = 'ReleaseRefusal';
}

/**
 * What to change for a release of `version` on a day like `2026-11-22`.
 *
 * @throws {ReleaseRefusal} when it cannot be made.
 */
export function planRelease(checkout: Checkout, version: string, date: string): ReleasePlan {
  const problems = problemsWith(checkout, version);
  if (problems.length > 0) throw new ReleaseRefusal(problems.join('\n'));
  const { files, repository } = checkout;
  const changed = files.flatMap((file) => {
    const { path } = file;
    const text = isChangelog(file)
      ? withRelease(file.text, { version, date, repository })
      : withVersion(file, version);
    return text === file.text ? [] : [{ path, text }];
  });
  return { changed, message: `Release ${version}`, tags: tagsOf(version) };
}

/** Each file that a release changes, with the lines that are new in it; each once. */
export function newLines({ changed }: ReleasePlan, { files }: Checkout) {
  const linesOf = (text = '') => new Set(text.split('\n').map((line) => line.trim()));
  const before = new Map(files.map(({ path, text }) => [path, text]));
  return changed.map(({ path, text }) => ({
    path,
    lines: [...linesOf(text).difference(linesOf(before.get(path)))],
  }));
}

function problemsWith(checkout: Checkout, version: string): readonly string[] {
  const { version: current, isClean, tags, files } = checkout;
  if (!isClean) return ['There are changes that are not committed: commit or stash them.'];
  const changelog = files.find(isChangelog)?.text ?? '';
  const isVersion = valid(version) === version;
  return [
    ...(isVersion ? [] : [`${version} is no version: give one like 1.2.3 or 1.2.3-rc.1.`]),
    ...(isVersion && new SemVer(version).compare(current) <= 0
      ? [`${version} is not greater than ${current}, the version of package.json.`]
      : []),
    ...tagsOf(version)
      .filter((tag) => tags.includes(tag))
      .map((tag) => `There is a tag ${tag} already.`),
    ...(isVersion ? problemsWithGoModule(files, new SemVer(version).major) : []),
    ...(unreleasedChanges(changelog) === ''
      ? ['CHANGELOG.md says nothing under Unreleased: say there what is new.']
      : []),
  ];
}

/** Go requires the path of a module to end with its major version from 2 on, and its tag to begin with its folder. */
function problemsWithGoModule(files: readonly TextFile[], major: number): readonly string[] {
  const text = files.find(({ path }) => path === GO_MODULE)?.text ?? '';
  const [, module = ''] = /^module (\S+)$/m.exec(text) ?? [];
  const suffix = major < 2 ? '/clients/go' : `/clients/go/v${major}`;
  return module.endsWith(suffix)
    ? []
    : [`${GO_MODULE} names the module "${module}": it must end with ${suffix}.`];
}

function tagsOf(version: string): readonly string[] {
  return [`v${version}`, `clients/go/v${version}`];
}

function isChangelog({ path }: TextFile): boolean {
  return path === 'CHANGELOG.md';
}
