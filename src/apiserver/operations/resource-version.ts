import { badRequest, plainError } from '../errors/api-error.ts';

/** Reads a resourceVersion of a list; '' and "0" are 0: any. @throws {ApiError} 400 */
export function parseListVersion(text: string): number {
  const version = parse(text);
  if (version === undefined) {
    throw badRequest(`invalid resource version: ${invalidVersion(text)}`);
  }
  return version;
}

/** Reads a resourceVersion of a get or a watch; '' and "0" are 0: any. @throws {ApiError} */
export function parseReadVersion(text: string): number {
  const version = parse(text);
  if (version === undefined) throw plainError(invalidVersion(text));
  return version;
}

/** Reads the resourceVersion of an object that is to be stored; absent, '' and "0" are 0: none. @throws {ApiError} */
export function parseObjectVersion(text = ''): number {
  const version = parse(text);
  if (version === undefined) throw plainError(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
  return version;
}

function parse(text: string): number | undefined {
  if (text === '') return 0;
  return /^\d{1,19}$/.test(text) ? Number(text) : undefined;
}

function invalidVersion(text: string): string {
  const quoted = JSON.stringify(text);
  return `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`;
}
