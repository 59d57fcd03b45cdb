// One election in memory: two candidates, and a third that is better. Run it with: node elect.ts
import {
  type Action,
  decideElection,
  decodeLease,
  decodeLeaseCandidate,
  type ElectionInput,
  explainCandidates,
  formatMicroTime,
  isLeaseWrite,
  type KubernetesObject,
  leasePatch,
  type Now,
  newLease,
  noMemory,
  nowAt,
  observeCandidate,
  observeLease,
  pingPatch,
  REASONS,
  recordDecision,
  recordSending,
  recordSuccess,
} from 'coordinated-leader-election/election';

/** An object of the API, as a server would send it. */
interface Stored extends KubernetesObject {
  readonly spec: Readonly<Record<string, unknown>>;
}

const STARTED_AT = Date.parse('2026-01-01T00:00:00Z');
let elapsedMs = 0;
let revision = 0;

/** The two clocks: one to measure with, one for what others read. */
function now(): Now {
  return nowAt(elapsedMs, STARTED_AT + elapsedMs);
}

/** All that is known of the election: what was seen, and what is remembered. Every step gives the next. */
let known: ElectionInput = {
  namespace: 'default',
  name: 'scheduler',
  lease: undefined,
  memory: noMemory,
  candidates: [],
  settings: {
    electionDurationMs: 5000,
    leaseDurationSeconds: 10,
    candidateValidityMs: 30 * 60_000,
    candidateGcAfterMs: 2 * 3_600_000,
  },
};

/** A watch would call this with each event of a LeaseCandidate. */
function seeCandidate(object: Stored): void {
  const candidate = decodeLeaseCandidate(object);
  const former = known.candidates.find((seen) => seen.candidate.name === candidate.name);
  const observation = observeCandidate(former?.observation, candidate, now(), known.settings);
  const others = known.candidates.filter((seen) => seen !== former);
  known = { ...known, candidates: [...others, { candidate, observation }] };
}

/** A watch would call this with each event of the Lease; with undefined when it was deleted. */
function seeLease(object: Stored | undefined): void {
  const lease = object && decodeLease(object);
  known = { ...known, lease, memory: observeLease(known.memory, lease, now(), known.settings) };
}

/** Decides, sends what was decided, and takes note of both. */
function step(): void {
  const decision = decideElection(known, now());
  console.log(`\n${elapsedMs} ms: ${decision.reason}. ${REASONS[decision.reason]}`);
  for (const { name, state, lostBy } of explainCandidates(decision)) {
    console.log(`  ${name} (${state}): ${lostBy ?? 'chosen'}`);
  }
  known = recordDecision(known, decision, now().monotonic);
  for (const action of decision.actions) {
    known = recordSending(known, action, now().monotonic);
    const stored = send(action);
    if (isLeaseWrite(action)) seeLease(stored);
    else if (stored) seeCandidate(stored);
    known = recordSuccess(known, action, now().monotonic, now().monotonic, known.lease);
  }
  const { requeue } = decision;
  if (requeue.kind === 'at')
    console.log(`  to be decided again at ${Math.ceil(requeue.time)} ms, or when something changes`);
}

/** What a server would make of an action. A real one refuses it unless the resourceVersion is still the same. */
const objects = new Map<string, Stored>();

function send(action: Action): Stored | undefined {
  switch (action.kind) {
    case 'CreateLease':
      return store('lease', newLease(known.namespace, known.name, action));
    case 'UpdateLease':
      return store('lease', leasePatch(action));
    case 'PingCandidate':
      return store(action.name, pingPatch(action));
    case 'DeleteCandidate':
      objects.delete(action.name);
      return undefined;
  }
}

/** Stores an object, or merges a patch into it. */
function store(key: string, { metadata, spec }: { readonly [field: string]: unknown }): Stored {
  const old = objects.get(key);
  const fields = Object.entries({ ...old?.spec, ...(spec as object) }).filter(([, value]) => value !== null);
  const stored = {
    metadata: {
      name: key,
      uid: `uid-of-${key}`,
      ...old?.metadata,
      ...(metadata as object),
      resourceVersion: `${++revision}`,
    },
    spec: Object.fromEntries(fields),
  };
  console.log(`  ${key}: ${JSON.stringify(spec)}`);
  objects.set(key, stored);
  return stored;
}

/** What client-go's candidates publish. */
function candidate(name: string, binaryVersion: string, emulationVersion: string): Stored {
  return store(name, {
    metadata: { namespace: 'default', name, creationTimestamp: formatMicroTime(now().wall) },
    spec: {
      leaseName: 'scheduler',
      binaryVersion,
      emulationVersion,
      strategy: 'OldestEmulationVersion',
      renewTime: formatMicroTime(now().wall),
    },
  });
}

seeCandidate(candidate('new', '1.37.0', '1.37.0'));
seeCandidate(candidate('newer', '1.38.0', '1.38.0'));
step();
elapsedMs = 1000;
seeCandidate(candidate('old', '1.36.0', '1.36.0'));
step();
