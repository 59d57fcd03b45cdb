const UNRELEASED = '## [Unreleased]';

/** The changelog after a release. */
export interface ChangelogRelease {
  readonly version: string;
  /** `2026-11-22` */
  readonly date: string;
  /** `https://github.com/owner/name` */
  readonly repository: string;
}

/** The versions with sections in the changelog, newest first. */
export function releasedVersions(changelog: string): readonly string[] {
  return [...changelog.matchAll(/^## \[(\d[^\]]*)\]/gm)].map(([, version = '']) => version);
}

/** The text about unreleased changes, without its heading. */
export function unreleasedChanges(changelog: string): string {
  const [, rest = ''] = changelog.split(`${UNRELEASED}\n`, 2);
  return rest.split(/^(?:## |\[Unreleased\]:)/m, 1)[0]?.trim() ?? '';
}

/** The changelog with the unreleased changes as a release, and with links that compare it with the previous one. */
export function withRelease(changelog: string, release: ChangelogRelease): string {
  const { version, date, repository } = release;
  const compare = (from: string, to: string) => `${repository}/compare/${from}...${to}`;
  // A tag, or a commit if the former version was not published.
  const [, previous = ''] = /^\[Unreleased\]: \S*\/compare\/(\S+)\.\.\.HEAD$/m.exec(changelog) ?? [];
  const links = [
    `[Unreleased]: ${compare(`v${version}`, 'HEAD')}`,
    `[${version}]: ${compare(previous, `v${version}`)}`,
  ];
  return changelog
    .replace(`${UNRELEASED}\n`, `${UNRELEASED}\n\n## [${version}] - ${date}\n`)
    .replace(/^\[Unreleased\]: .*$/m, links.join('\n'));
}
