import { hash } from 'node:crypto';
import { namesOneOf } from '../http/accept.ts';
import { type Answer, layoutFor, objectAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import {
  acceptedTypes,
  type Negotiated,
  negotiate,
  noRepresentation,
  notAcceptable,
  plainOnly,
  type Restrictions,
} from '../http/negotiation.ts';
import type { PathHandler } from '../http/path-handler.ts';
import { methodNotAllowed } from '../http/router.ts';
import { apiGroup, apiGroupDiscovery, apiResourceList, type ServedGroup } from './api-groups.ts';

/** Besides the plain form: everything in one list, as newer clients ask for it. */
const discoveryForms: Restrictions = {
  allowsTransform: ({ group, version, kind }) =>
    group === 'apidiscovery.k8s.io' &&
    kind === 'APIGroupDiscoveryList' &&
    (version === 'v2' || version === 'v2beta1'),
  allowsServerVersion: false,
};

/** /api, /apis and what is below them, by path. */
export function groupHandlers(groups: readonly ServedGroup[]): ReadonlyMap<string, PathHandler> {
  const handlers = new Map<string, PathHandler>();
  const add = (path: string, handler: PathHandler) => {
    handlers.set(path, handler);
    handlers.set(`${path}/`, handler);
  };
  const core = groups.filter(({ name }) => name === '');
  const named = groups.filter(({ name }) => name !== '');
  add(
    '/api',
    onlyGet((exchange) =>
      overview(exchange, core, {
        kind: 'APIVersions',
        versions: core.flatMap(({ versions }) => versions.map(({ version }) => version)),
        serverAddressByClientCIDRs: [
          { clientCIDR: '0.0.0.0/0', serverAddress: exchange.incoming.header('host') },
        ],
      }),
    ),
  );
  add('/apis', (exchange) =>
    overview(exchange, named, { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map(apiGroup) }),
  );
  for (const group of groups) {
    const base = group.name === '' ? '/api' : `/apis/${group.name}`;
    if (group.name !== '') {
      const body = { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group) };
      add(base, (exchange) => plainAnswer(exchange, body));
    }
    for (const version of group.versions) {
      const body = apiResourceList(group.name, version);
      add(
        `${base}/${version.version}`,
        onlyGet((exchange) => plainAnswer(exchange, body)),
      );
    }
  }
  return handlers;
}

/** A handler for which there is but one method, and that says first of all what it can be written in. */
export function onlyGet(handler: PathHandler, written: readonly string[] = acceptedTypes): PathHandler {
  return (exchange) => {
    const { incoming, reader } = exchange;
    if (incoming.method !== 'GET') throw methodNotAllowed();
    if (reader.accept !== '' && !namesOneOf(reader.accept, written)) throw noRepresentation(written);
    return handler(exchange);
  };
}

function plainAnswer({ reader }: Exchange, body: object): Answer {
  const negotiated = negotiate(reader.accept, plainOnly);
  if (negotiated === undefined) throw notAcceptable();
  return objectAnswer(200, body, layoutFor(reader, negotiated));
}

function overview(exchange: Exchange, groups: readonly ServedGroup[], plain: object): Answer {
  const { reader, incoming } = exchange;
  const negotiated = negotiate(reader.accept, discoveryForms);
  if (negotiated === undefined) throw notAcceptable();
  if (negotiated.transform === undefined) return objectAnswer(200, plain, layoutFor(reader, negotiated));
  const answer = aggregated(exchange, groups, negotiated);
  const tag = `"${hash('sha512', answer.body, 'hex').toUpperCase()}"`;
  const headers = ['Etag', tag, 'Vary', 'Accept'];
  const kept = { headers, cacheControl: 'public' };
  if (incoming.header('if-none-match') === tag) return { code: 304, contentType: '', body: '', ...kept };
  return { ...answer, ...kept };
}

function aggregated({ reader }: Exchange, groups: readonly ServedGroup[], negotiated: Negotiated): Answer {
  const { version = 'v2' } = negotiated.transform ?? {};
  const body = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(apiGroupDiscovery),
  };
  const answer = objectAnswer(200, body, layoutFor(reader, negotiated));
  // Clients tell by this what they got: older servers ignore what they do not know.
  const contentType = `${negotiated.mediaType};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  return { ...answer, contentType };
}
