import { posix } from 'node:path';
import { parseJsonObject } from '../../support/json.ts';
import { badRequest } from '../errors/api-error.ts';

/** Where a list that was cut off goes on. */
export interface ContinueToken {
  /** The state of the list is that of this revision; undefined: of now, as that of its beginning is not known any more. */
  readonly revision: number | undefined;
  /** The first key that was not listed yet is this one or the next after it. */
  readonly startKey: string;
}

const VERSION = 'meta.k8s.io/v1';
const LATEST = -1;

/** Writes the token that clients give back as they got it. */
export function encodeContinue({ revision = LATEST, startKey }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: VERSION, rv: revision, start: startKey })).toString('base64url');
}

/** @throws {ApiError} 400 where it is none of ours. */
export function decodeContinue(text: string): ContinueToken {
  const { v, rv, start } = parse(text);
  if (v !== VERSION) {
    throw invalidToken(`server does not recognize this encoded version ${typeof v === 'string' ? v : ''}`);
  }
  if (typeof rv !== 'number' || rv === 0) {
    throw invalidToken('incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  }
  if (typeof start !== 'string' || start === '') {
    throw invalidToken('encoded start key empty (version meta.k8s.io/v1)');
  }
  // It must not lead out of the list that it was made for.
  const path = start.startsWith('/') ? start : `/${start}`;
  if (posix.normalize(path) !== path) throw invalidToken(start);
  return { revision: rv > 0 ? rv : undefined, startKey: path.slice(1) };
}

function parse(text: string): { v?: unknown; rv?: unknown; start?: unknown } {
  if (!/^[\w-]*$/.test(text)) throw invalidToken('not base64');
  const value = parseJsonObject(Buffer.from(text, 'base64url').toString('latin1'));
  if (value === undefined) throw invalidToken('not a JSON object');
  return value;
}

function invalidToken(problem: string): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${problem}`);
}
