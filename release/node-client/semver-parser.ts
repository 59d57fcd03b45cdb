// The only function of `semver` that a participant needs.
export { default as parse } from 'semver/functions/parse.js';
