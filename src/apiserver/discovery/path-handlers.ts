import type { PathHandler } from '../http/answer.ts';
import { textAnswer } from '../http/answer.ts';
import type { ResourceDefinition } from '../kinds/definition.ts';
import { groupHandlers, onlyGet } from './groups.ts';
import { openApiDocuments, openApiHandlers } from './open-api.ts';

export interface PathHandlerParts {
  readonly resources: readonly ResourceDefinition[];
  readonly gitVersion: string;
}

/** Returns the handlers of all paths outside the resources, by path. */
export function createPathHandlers({
  resources,
  gitVersion,
}: PathHandlerParts): ReadonlyMap<string, PathHandler> {
  const version = versionHandler(gitVersion);
  const handlers = new Map<string, PathHandler>([
    ...groupHandlers(resources),
    ...['livez', 'readyz', 'healthz'].flatMap(healthHandlers),
    ...openApiHandlers(openApiDocuments(resources, gitVersion)),
    ['/version', version],
    ['/version/', version],
  ]);
  const paths = [...handlers.keys()].filter((path) => !path.endsWith('/')).toSorted();
  const index = { code: 200, contentType: 'application/json', body: JSON.stringify({ paths }, undefined, 2) };
  return handlers.set('/', () => index);
}

/** A server that answers is alive and ready. There are no other checks. */
function healthHandlers(name: string): [path: string, handler: PathHandler][] {
  return [
    [
      `/${name}`,
      ({ target }) =>
        textAnswer(200, target.query.has('verbose') ? `[+]ping ok\n${name} check passed\n` : 'ok'),
    ],
    [`/${name}/ping`, () => textAnswer(200, 'ok')],
  ];
}

/** /version: the version that clients see. `gitVersion` looks like `v1.36.3`. */
function versionHandler(gitVersion: string): PathHandler {
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
