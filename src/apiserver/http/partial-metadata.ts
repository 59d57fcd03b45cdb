import type { JsonObject } from '../../support/json.ts';
import type { ApiObject } from '../schema/api-object.ts';

/** An object's metadata alone, as this version of meta.k8s.io has it. */
export function partialMetadata({ metadata }: ApiObject, version: string): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata };
}
