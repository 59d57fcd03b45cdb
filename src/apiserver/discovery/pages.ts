import type { Clock } from '../../support/clock.ts';
import type { Page } from '../http/page.ts';
import type { ResourceDefinition } from '../resources/definition.ts';
import { servedGroups } from './api-groups.ts';
import { discoveryPages } from './discovery-pages.ts';
import { healthPages } from './health-pages.ts';
import { openApiDocuments } from './open-api.ts';
import { openApiPages } from './open-api-pages.ts';
import { versionPage } from './version-page.ts';

export interface PageParts {
  readonly resources: readonly ResourceDefinition[];
  readonly gitVersion: string;
  readonly clock: Clock;
  readonly isReady: () => boolean;
}

/** Everything that is served under a path of its own, by that path. */
export function createPages({ resources, gitVersion, clock, isReady }: PageParts): ReadonlyMap<string, Page> {
  const version = versionPage(gitVersion);
  const pages = new Map<string, Page>([
    ...discoveryPages(servedGroups(resources)),
    ...healthPages(isReady),
    ...openApiPages(openApiDocuments(resources, gitVersion), clock),
    ['/version', version],
    ['/version/', version],
  ]);
  const paths = [...pages.keys()].filter((path) => !path.endsWith('/')).toSorted();
  const index = { code: 200, contentType: 'application/json', body: JSON.stringify({ paths }, undefined, 2) };
  return pages.set('/', () => index);
}
