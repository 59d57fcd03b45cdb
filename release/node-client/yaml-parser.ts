// The only function of `yaml` that a participant needs.
export { parse } from 'yaml';
