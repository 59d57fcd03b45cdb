import { type Access, forbidden, impersonationRefused, unauthorized } from '../access/access.ts';
import { ApiError } from '../errors/api-error.ts';
import {
  answered,
  type Exchange,
  type ExchangeResult,
  errorAnswer,
  type Incoming,
  type PathHandler,
  pageNotFound,
  type Reader,
  textAnswer,
} from './answer.ts';
import { nothingThere, parseTarget, type RequestTarget, type ResourcePath } from './routes.ts';
import { warningHeaders } from './write-answer.ts';

interface DispatcherParts {
  readonly access: Access;
  /** The handlers by path. */
  readonly pathHandlers: ReadonlyMap<string, PathHandler>;
  /** Answers requests for one resource. @throws {ApiError} synchronously or as a rejection */
  readonly resource: (exchange: Exchange, path: ResourcePath) => ExchangeResult | Promise<ExchangeResult>;
  /** Whether the server has resources of this group. */
  readonly hasGroup: (group: string) => boolean;
  /** Receives unexpected errors. */
  readonly onError: (error: unknown) => void;
}

/** Authenticates, authorizes and answers a request. Never throws or rejects. `noteUser` receives the user's name. */
export type Dispatcher = (
  incoming: Incoming,
  noteUser: (name: string) => void,
) => ExchangeResult | Promise<ExchangeResult>;

export function createDispatcher(parts: DispatcherParts): Dispatcher {
  const { access, pathHandlers, resource, hasGroup, onError } = parts;
  return (incoming, noteUser) => {
    const target = parseTarget(incoming.method, incoming.url);
    if (target === undefined) return answered(textAnswer(400, '400 Bad Request'));
    const { query, attributes } = target;
    const reader: Reader = {
      accept: incoming.header('accept'),
      userAgent: incoming.header('user-agent'),
      query,
    };
    const warnings: string[] = [];
    const done = (result: ExchangeResult): ExchangeResult => withWarnings(result, warnings);
    const refuse = (error: unknown): ExchangeResult => {
      if (!(error instanceof ApiError)) onError(error);
      return done(answered(errorAnswer(error instanceof ApiError ? error : internalError(), reader)));
    };
    try {
      const principal = access.authenticate(incoming.header('authorization'));
      if (principal === undefined) throw unauthorized();
      noteUser(principal.user.name);
      // Ignoring the header would give the client more permissions than the impersonated user has.
      const impersonation = incoming.headerNames().find((name) => name.startsWith('impersonate-'));
      if (impersonation !== undefined) throw impersonationRefused(impersonation);
      if (!principal.may(attributes)) throw forbidden(principal.user, attributes);
      const warn = (text: string) => {
        warnings.push(text);
      };
      const exchange = { incoming, target, reader, principal, warn };
      const path = target.resource;
      if (path === undefined) return answered(pageAnswer(exchange));
      if (!hasGroup(path.group)) return answered(pageNotFound);
      const result = resource(exchange, path);
      return result instanceof Promise ? result.then(done, refuse) : done(result);
    } catch (error) {
      return refuse(error);
    }
  };

  function pageAnswer(exchange: Exchange) {
    const handler = pathHandlers.get(exchange.target.path);
    if (handler !== undefined) return handler(exchange);
    if (isBelowGroup(exchange.target)) throw nothingThere();
    return pageNotFound;
  }

  function isBelowGroup({ path }: RequestTarget): boolean {
    const [prefix, group, version] = path.slice(1).split('/');
    if (prefix === 'api') return group !== undefined;
    return prefix === 'apis' && version !== undefined && hasGroup(group ?? '');
  }
}

function withWarnings(result: ExchangeResult, warnings: readonly string[]): ExchangeResult {
  if (warnings.length === 0 || result.kind === 'gone') return result;
  const told = warningHeaders(warnings);
  if (result.kind !== 'answer') return { ...result, headers: told };
  const { headers = [] } = result.answer;
  return answered({ ...result.answer, headers: [...headers, ...told] });
}

/** The client gets no details, because the error may contain paths and code. */
function internalError(): ApiError {
  const problem = 'the log of the server says what';
  return new ApiError(500, 'InternalError', `Internal error occurred: ${problem}`, {
    causes: [{ message: problem }],
  });
}
