import type { PathHandler } from '../http/path-handler.ts';
import { onlyGet } from './group-handlers.ts';

/** /version: what clients take this server for. `gitVersion` is like `v1.36.3`. */
export function versionHandler(gitVersion: string): PathHandler {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  const version = {
    major,
    minor,
    gitVersion,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: '',
    platform: '',
  };
  const body = JSON.stringify(version, undefined, 2);
  const answer = { code: 200, contentType: 'application/json', body };
  return onlyGet(() => answer, ['application/json']);
}
