const UNRELEASED = '## [Unreleased]';

/** What a release makes of the changelog. */
export interface ChangelogRelease {
  readonly version: string;
  /** `2026-11-22` */
  readonly date: string;
  /** `https://github.com/owner/name` */
  readonly repository: string;
}

/** The versions that the changelog has sections of, the newest first. */
export function releasedVersions(changelog: string): readonly string[] {
  return [...changelog.matchAll(/^## \[(\d[^\]]*)\]/gm)].map(([, version = '']) => version);
}

/** What is said of changes that are not released yet, without its heading. */
export function unreleasedChanges(changelog: string): string {
  const [, rest = ''] = changelog.split(`${UNRELEASED}\n`, 2);
  return rest.split(/^(?:## |\[Unreleased\]:)/m, 1)[0]?.trim() ?? '';
}

/** The changelog in which what was unreleased is a release, with links that compare it with the one before. */
export function withRelease(changelog: string, release: ChangelogRelease): string {
  const { version, date, repository } = release;
  const compare = (from: string, to: string) => `${repository}/compare/${from}...${to}`;
  // A tag, or a commit where the former version was not published.
  const [, previous = ''] = /^\[Unreleased\]: \S*\/compare\/(\S+)\.\.\.HEAD$/m.exec(changelog) ?? [];
  const links = [
    `[Unreleased]: ${compare(`v${version}`, 'HEAD')}`,
    `[${version}]: ${compare(previous, `v${version}`)}`,
  ];
  return changelog
    .replace(`${UNRELEASED}\n`, `${UNRELEASED}\n\n## [${version}] - ${date}\n`)
    .replace(/^\[Unreleased\]: .*$/m, links.join('\n'));
}
