import { type Answer, textAnswer } from '../http/answer.ts';
import type { PathHandler } from '../http/path-handler.ts';

/** Something that has to be in order. */
interface Check {
  readonly name: string;
  readonly isOk: () => boolean;
}

/** /livez, /readyz, /healthz and each of their checks, by path. */
export function healthHandlers(isReady: () => boolean): ReadonlyMap<string, PathHandler> {
  // That there is an answer at all is what shows that the server lives.
  const alive: Check = { name: 'ping', isOk: () => true };
  const ready: Check = { name: 'storage-readiness', isOk: isReady };
  return new Map([
    ...handlersOf('livez', [alive]),
    ...handlersOf('readyz', [alive, ready]),
    ...handlersOf('healthz', [alive, ready]),
  ]);
}

function handlersOf(name: string, checks: readonly Check[]): [path: string, handler: PathHandler][] {
  return [
    [`/${name}`, ({ target }) => report(name, checks, target.query)],
    ...checks.map((check): [string, PathHandler] => [
      `/${name}/${check.name}`,
      () => (check.isOk() ? textAnswer(200, 'ok') : textAnswer(500, `${check.name} failed\n`)),
    ]),
  ];
}

function report(name: string, checks: readonly Check[], query: URLSearchParams): Answer {
  const excluded = query.getAll('exclude');
  let isHealthy = true;
  let text = '';
  for (const check of checks) {
    if (excluded.includes(check.name)) {
      text += `[+]${check.name} excluded: ok\n`;
    } else if (check.isOk()) {
      text += `[+]${check.name} ok\n`;
    } else {
      isHealthy = false;
      text += `[-]${check.name} failed: reason withheld\n`;
    }
  }
  const unknown = excluded.filter((each) => !checks.some((check) => check.name === each));
  if (unknown.length > 0) {
    const names = unknown.toSorted().map((each) => JSON.stringify(each));
    text += `warn: some health checks cannot be excluded: no matches for ${names.join(', ')}\n`;
  }
  if (!isHealthy) return textAnswer(500, `${text}${name} check failed\n`);
  return textAnswer(200, query.has('verbose') ? `${text}${name} check passed\n` : 'ok');
}
