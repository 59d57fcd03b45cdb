import { surveyJson } from './json-survey.ts';

/**
 * The paths (`metadata.labels.app`, `spec.items[0].name`) of fields that one object of a JSON text has more than once,
 * of which JSON.parse keeps the last without a word. Takes only what JSON.parse takes.
 */
export function duplicateFields(json: string): readonly string[] {
  return surveyJson(json).duplicates;
}
