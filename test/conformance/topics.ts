import type { Suite } from './suite.ts';
import { describeCreate } from './topics/create.ts';
import { describeDecoding } from './topics/decoding.ts';
import { describeGenerateName } from './topics/generate-name.ts';
import { describeJsonPatch } from './topics/json-patch.ts';
import { describeMergePatch } from './topics/merge-patch.ts';
import { describeNegotiation } from './topics/negotiation.ts';
import { describeParameters } from './topics/parameters.ts';
import { describeRead } from './topics/read.ts';
import { describeReplace } from './topics/replace.ts';
import { describeStrategicMergePatch } from './topics/strategic-merge-patch.ts';
import { describeValidation } from './topics/validation.ts';

/** Everything that the suite is about, by its title. */
export const topics: Readonly<Record<string, (suite: Suite) => void>> = {
  create: describeCreate,
  generateName: describeGenerateName,
  read: describeRead,
  validation: describeValidation,
  decoding: describeDecoding,
  parameters: describeParameters,
  negotiation: describeNegotiation,
  replace: describeReplace,
  'JSON patch': describeJsonPatch,
  'merge patch': describeMergePatch,
  'strategic merge patch': describeStrategicMergePatch,
};
