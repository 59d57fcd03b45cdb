import type { Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';

/** What is served under a path that is none of a resource. @throws {ApiError} */
export type PathHandler = (exchange: Exchange) => Answer;
