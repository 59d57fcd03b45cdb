import type { Environment } from './host.ts';

/** The environment of the process, for a library that nobody hands it to. Commands have theirs from main.ts. */
export const processEnvironment: Environment = process.env;
