import type { Clock } from '../../support/clock.ts';
import type { PathHandler } from '../http/path-handler.ts';
import type { ResourceDefinition } from '../resources/definition.ts';
import { servedGroups } from './api-groups.ts';
import { groupHandlers } from './group-handlers.ts';
import { healthHandlers } from './health-handlers.ts';
import { openApiDocuments } from './open-api.ts';
import { openApiHandlers } from './open-api-handlers.ts';
import { versionHandler } from './version-handler.ts';

export interface PathHandlerParts {
  readonly resources: readonly ResourceDefinition[];
  readonly gitVersion: string;
  readonly clock: Clock;
  readonly isReady: () => boolean;
}

/** Everything that is served under a path of its own, by that path. */
export function createPathHandlers({
  resources,
  gitVersion,
  clock,
  isReady,
}: PathHandlerParts): ReadonlyMap<string, PathHandler> {
  const version = versionHandler(gitVersion);
  const handlers = new Map<string, PathHandler>([
    ...groupHandlers(servedGroups(resources)),
    ...healthHandlers(isReady),
    ...openApiHandlers(openApiDocuments(resources, gitVersion), clock),
    ['/version', version],
    ['/version/', version],
  ]);
  const paths = [...handlers.keys()].filter((path) => !path.endsWith('/')).toSorted();
  const index = { code: 200, contentType: 'application/json', body: JSON.stringify({ paths }, undefined, 2) };
  return handlers.set('/', () => index);
}
