/** Where a file names the version of this project. */
export interface VersionPlace {
  readonly path: string;
  /** From 1 on. */
  readonly line: number;
  readonly version: string;
}

/** A file of the repository. */
export interface TextFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** What is around a version says that it is the one of this project, and not that of anything else. */
interface Context {
  /** The files in which it says so; all where there is none. */
  readonly files?: RegExp;
  /** The version is its group `version`. */
  readonly pattern: RegExp;
}

const VERSION = String.raw`(?<version>\d+\.\d+\.\d+(?:-[0-9A-Za-z-]+(?:\.(?!tgz)[0-9A-Za-z-]+)*)?)(?![0-9A-Za-z+])`;
const around = (before: string, after = ''): RegExp => new RegExp(`${before}${VERSION}${after}`, 'dgm');

const contexts: readonly Context[] = [
  // Images, packaged charts and the label helm.sh/chart.
  { pattern: around('leader-election[:@-]') },
  // Files of the repository at this version.
  { pattern: around('leader-election/blob/v') },
  { pattern: around(String.raw`leader-election-\S+[ \t]+`) },
  { pattern: around(String.raw`app\.kubernetes\.io/version: "?`) },
  { pattern: around(String.raw`"name": "coordinated-leader-election(?:-participant)?",\s+"version": "`) },
  { files: /Chart\.yaml$/, pattern: around('^(?:version|appVersion): "?', '"?$') },
  { files: /^Dockerfile$/, pattern: around('^ARG VERSION=', '$') },
];

/** The changelog names all versions, and the tests of releases name some that there are not. */
const NOT_READ = /^(?:CHANGELOG\.md$|test\/release\/)/;

/** Every place in which a file names the version of this project, in no particular order. */
export function versionPlaces({ path, text }: TextFile): readonly VersionPlace[] {
  return spansIn({ path, text }).map(([start, end]) => ({
    path,
    line: text.slice(0, start).split('\n').length,
    version: text.slice(start, end),
  }));
}

/** The file's text with another version in each of these places. */
export function withVersion(file: TextFile, version: string): string {
  let { text } = file;
  const fromTheEnd = [...spansIn(file)].sort(([one], [other]) => other - one);
  for (const [start, end] of fromTheEnd) text = `${text.slice(0, start)}${version}${text.slice(end)}`;
  return text;
}

function spansIn({ path, text }: TextFile): readonly (readonly [start: number, end: number])[] {
  if (NOT_READ.test(path)) return [];
  return contexts
    .filter(({ files }) => files?.test(path) ?? true)
    .flatMap(({ pattern }) =>
      [...text.matchAll(pattern)].flatMap(({ indices }) => {
        const span = indices?.groups?.['version'];
        return span ? [span] : [];
      }),
    );
}
