import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';

/** A file of the page. */
export interface Asset {
  readonly contentType: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The page itself, by its path; everything else of it is below `/status/`. */
export const PAGE_PATH = '/';
export const ASSETS_PATH = '/status/';

/** The page's files, by the path that each is served under. */
export function loadAssets(): ReadonlyMap<string, Asset> {
  const folder = new URL('./page/', import.meta.url);
  return new Map(
    readdirSync(folder).flatMap((file): [string, Asset][] => {
      const contentType = CONTENT_TYPES[extname(file)];
      if (contentType === undefined) return [];
      const body = readFileSync(new URL(file, folder));
      const path = file === 'index.html' ? PAGE_PATH : `${ASSETS_PATH}${file}`;
      return [[path, { contentType, body, gzipped: gzipSync(body) }]];
    }),
  );
}
