import {
  type Access,
  forbidden,
  impersonationRefused,
  type Principal,
  unauthorized,
} from '../access/access.ts';
import { ApiError } from '../errors/api-error.ts';
import { errorAnswer, pageNotFound, type Reader, textAnswer } from './answer.ts';
import { answered, type Exchange, type ExchangeResult, type Incoming } from './exchange.ts';
import type { PathHandler } from './path-handler.ts';
import { parseTarget, type RequestTarget, type ResourcePath } from './request-target.ts';
import { checkTimeout } from './request-timeout.ts';
import { nothingThere } from './router.ts';
import { warningHeaders } from './warnings.ts';

export interface DispatcherParts {
  readonly access: Access;
  /** By their paths. */
  readonly pathHandlers: ReadonlyMap<string, PathHandler>;
  /** Answers for one resource. @throws {ApiError} at once or as a rejection */
  readonly resource: (exchange: Exchange, path: ResourcePath) => ExchangeResult | Promise<ExchangeResult>;
  /** Whether anything is served in this group. */
  readonly hasGroup: (group: string) => boolean;
  /** Called with what is no refusal: something that should not have happened. */
  readonly onError: (error: unknown) => void;
}

/** Lets a request in, or not, and answers it. Never throws, never rejects. `noteUser` is told who it is. */
export type Dispatcher = (
  incoming: Incoming,
  noteUser: (name: string) => void,
) => ExchangeResult | Promise<ExchangeResult>;

export function createDispatcher(parts: DispatcherParts): Dispatcher {
  const { access, pathHandlers, resource, hasGroup, onError } = parts;
  return (incoming, noteUser) => {
    const target = parseTarget(incoming.method, incoming.url);
    if (target === undefined) return answered(textAnswer(400, '400 Bad Request'));
    const reader: Reader = {
      accept: incoming.header('accept'),
      userAgent: incoming.header('user-agent'),
      query: target.query,
    };
    const warnings: string[] = [];
    const done = (result: ExchangeResult): ExchangeResult => withWarnings(result, warnings);
    const refuse = (error: unknown): ExchangeResult => {
      if (error instanceof ApiError) return done(answered(errorAnswer(error, reader)));
      onError(error);
      return done(answered(errorAnswer(internalError(), reader)));
    };
    try {
      if (target.attributes.verb !== 'watch') checkTimeout(target.query);
      const principal = authenticated(access, incoming);
      noteUser(principal.user.name);
      refuseImpersonation(incoming);
      if (!principal.may(target.attributes)) throw forbidden(principal.user, target.attributes);
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

  /** Whether a path that stands for nothing is at least below something that is served. */
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

/** @throws {ApiError} 401 */
function authenticated(access: Access, incoming: Incoming): Principal {
  const principal = access.authenticate(incoming.header('authorization'));
  if (principal === undefined) throw unauthorized();
  return principal;
}

/**
 * Whoever impersonates a user counts on having the rights of that user alone: ignoring the header would grant more.
 * @throws {ApiError} 403
 */
function refuseImpersonation(incoming: Incoming): void {
  const header = incoming.headerNames().find((name) => name.startsWith('impersonate-'));
  if (header !== undefined) throw impersonationRefused(header);
}

/** The error itself is for the log: it may have paths and lines of code in it. */
function internalError(): ApiError {
  const problem = 'the log of the server says what';
  return new ApiError(500, 'InternalError', `Internal error occurred: ${problem}`, {
    causes: [{ message: problem }],
  });
}
