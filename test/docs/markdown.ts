/** A link in a Markdown text, with any target. */
export interface MarkdownLink {
  /** As written. */
  readonly target: string;
  /** From 1 on. */
  readonly line: number;
}

/** All links of a Markdown text: inline links, images, reference definitions, and links in HTML; not those in code. */
export function linksIn(markdown: string): readonly MarkdownLink[] {
  const text = withoutCode(markdown);
  const patterns = [
    /\]\(\s*<?([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*)>?(?:\s+"[^"]*")?\s*\)/g,
    /^ {0,3}\[[^\]]+\]:\s+(\S+)/gm,
    /<(?:img|a)\b[^>]*?\b(?:src|href)="([^"]+)"/g,
  ];
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ 1: target = '', index }) => ({
      target,
      line: text.slice(0, index).split('\n').length,
    })),
  );
}

/** The anchors of the headings of a Markdown text, as GitHub generates them. */
export function anchorsIn(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutFences(markdown).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const anchor = anchorOf(heading);
    let unique = anchor;
    for (let more = 1; anchors.has(unique); more++) unique = `${anchor}-${more}`;
    anchors.add(unique);
  }
  return anchors;
}

function anchorOf(heading: string): string {
  return heading
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** The text without code, with its lines at the same positions. */
function withoutCode(markdown: string): string {
  return withoutFences(markdown).replaceAll(/(`+)(?!`)[^`\n]*\1/g, '');
}

function withoutFences(markdown: string): string {
  return markdown.replaceAll(/^( {0,3})(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2[`~]*\s*$/gm, (block) =>
    block.replaceAll(/[^\n]/g, ''),
  );
}
