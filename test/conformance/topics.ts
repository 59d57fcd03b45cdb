import type { Suite } from './suite.ts';
import { describeAccess } from './topics/access.ts';
import { describeApply } from './topics/apply.ts';
import { describeCandidateVersions } from './topics/candidate-versions.ts';
import { describeCandidates } from './topics/candidates.ts';
import { describeCreate } from './topics/create.ts';
import { describeCustomCandidates } from './topics/custom-candidates.ts';
import { describeDecoding } from './topics/decoding.ts';
import { describeDelete } from './topics/delete.ts';
import { describeDeleteCollection } from './topics/delete-collection.ts';
import { describeDiscovery } from './topics/discovery.ts';
import { describeEvents } from './topics/events.ts';
import { describeFinalizers } from './topics/finalizers.ts';
import { describeGenerateName } from './topics/generate-name.ts';
import { describeHistory } from './topics/history.ts';
import { describeJsonPatch } from './topics/json-patch.ts';
import { describeList } from './topics/list.ts';
import { describeMergePatch } from './topics/merge-patch.ts';
import { describeNamespaces } from './topics/namespaces.ts';
import { describeNegotiation } from './topics/negotiation.ts';
import { describeOpenApi } from './topics/openapi.ts';
import { describeParameters } from './topics/parameters.ts';
import { describeRead } from './topics/read.ts';
import { describeReplace } from './topics/replace.ts';
import { describeSelectors } from './topics/selectors.ts';
import { describeStrategicMergePatch } from './topics/strategic-merge-patch.ts';
import { describeTable } from './topics/table.ts';
import { describeValidation } from './topics/validation.ts';
import { describeWatch } from './topics/watch.ts';

/** All topics of the suite, by title. */
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
  apply: describeApply,
  delete: describeDelete,
  finalizers: describeFinalizers,
  'delete collection': describeDeleteCollection,
  list: describeList,
  selectors: describeSelectors,
  watch: describeWatch,
  table: describeTable,
  discovery: describeDiscovery,
  openapi: describeOpenApi,
  access: describeAccess,
  candidates: describeCandidates,
  'candidate versions': describeCandidateVersions,
  'custom candidates': describeCustomCandidates,
  namespaces: describeNamespaces,
  events: describeEvents,
  history: describeHistory,
};
