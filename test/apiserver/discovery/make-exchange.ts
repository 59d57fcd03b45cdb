import { createAccess } from '../../../src/apiserver/access/access.ts';
import type { Exchange } from '../../../src/apiserver/http/exchange.ts';
import { parseTarget } from '../../../src/apiserver/http/request-target.ts';

/** A request of an administrator, as pages get it. Names of headers are in lower case. */
export function makeExchange(line: string, headers: Readonly<Record<string, string>> = {}): Exchange {
  const [method = '', url = ''] = line.split(' ');
  const target = parseTarget(method, url);
  const admin = { token: 't', user: { name: 'admin', groups: [] }, rules: 'admin' as const };
  const principal = createAccess([admin]).authenticate('Bearer t');
  if (target === undefined || principal === undefined) throw new Error(`${line} is no request`);
  return {
    incoming: {
      method,
      url,
      header: (name) => headers[name] ?? '',
      headerNames: () => Object.keys(headers),
      readBody: async () => Buffer.alloc(0),
    },
    target,
    reader: {
      accept: headers['accept'] ?? '',
      userAgent: headers['user-agent'] ?? '',
      query: target.query,
    },
    principal,
    warn: () => {},
  };
}
