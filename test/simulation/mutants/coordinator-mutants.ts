import { type Mutant, mutant } from './mutant.ts';

/**
 * Each clause of the rules prevents two leaders, no leader, or a storm of requests. Each mutant removes a clause or
 * breaks it.
 */
export const COORDINATOR_MUTANTS: readonly Mutant[] = [
  // What a write rests on.
  mutant('lease-without-version', 'writes Leases without their resourceVersion', [
    'coordination/lease-patch.ts',
    'return { metadata: { uid, resourceVersion, ...annotations(notes) }, spec: changedFields(change) };',
    'return { metadata: { uid, ...(resourceVersion === "" && { resourceVersion }), ...annotations(notes) }, spec: changedFields(change) };',
  ]),
  mutant('ping-without-version', 'pings candidates without their resourceVersion', [
    'coordination/lease-patch.ts',
    'return { metadata: { uid, resourceVersion }, spec: { pingTime: formatMicroTime(pingTime) } };',
    'return { metadata: { uid, ...(resourceVersion === "" && { resourceVersion }) }, spec: { pingTime: formatMicroTime(pingTime) } };',
  ]),
  mutant('no-expectations', 'decides again before its cache shows the result of its last write', [
    'controller/write-outcomes.ts',
    "if (awaited?.kind === 'answer') return Number.POSITIVE_INFINITY;",
    "if (awaited !== 'answer') return undefined; else return Number.POSITIVE_INFINITY;",
  ]),
  mutant('endless-expectations', 'waits forever until its cache shows a write', [
    'controller/write-outcomes.ts',
    'if (awaited === undefined || this.#clock.now() >= awaited.until) return undefined;',
    'if (awaited === undefined) return undefined;',
  ]),
  // Where candidates come from.
  mutant('pings-native-only', 'pings candidates of every group in the native group', [
    'controller/sender.ts',
    'const apiVersion = apiVersionOf(source);',
    "const apiVersion = apiVersionOf(source === 'custom' ? 'native' : source);",
  ]),
  mutant('hidden-is-gone', 'treats a holder as gone when its candidates are no longer served', [
    'election/decide-held.ts',
    'if (at >= hiddenUntil ||',
    'if (at < hiddenUntil ||',
  ]),
  mutant(
    'native-twin-counts',
    'uses the native one of two candidates of one name, even if it is dead',
    [
      'controller/election-records.ts',
      'if (isLater(a, b) || isLater(b, a)) return',
      'if (isLater(a, a)) return',
    ],
    ['controller/election-records.ts', 'if (ofA !== ofB) return', 'if (ofA < 0n && ofB < 0n) return'],
  ),
  // Leases that were taken from one after the other.
  mutant('forgets-others', 'gives a Lease back to one former holder while others may still lead', [
    'election/decide-vacant.ts',
    'if (former && hasAnswered && view.at >= returnsAt) {',
    'if (former && hasAnswered && view.at >= reservation.from) {',
  ]),
  // Servers that drop fields.
  mutant('no-notes', 'keeps no note of dropped fields', [
    'coordination/lease-patch.ts',
    'if (!notes) return {};',
    'if (notes || !notes) return {};',
  ]),
  mutant('note-stays', 'keeps the note of a preferredHolder when it grants the Lease', [
    'election/notes.ts',
    "    case 'grant':\n    case 'clearPreferredHolder':\n      return undefined;",
    "    case 'grant':\n      return notes.preferredHolder;\n    case 'clearPreferredHolder':\n      return undefined;",
  ]),
  mutant('fences-at-once', 'fences a holder before it had time to act on a note', [
    'election/decide-held.ts',
    'record.since >= noted.since + 2 * settings.electionDurationMs;',
    'record.since >= noted.since - settings.electionDurationMs;',
  ]),
  mutant('fences-the-silent', 'fences a holder that has not renewed since the note', [
    'election/decide-held.ts',
    'record.renewTime !== noted.renewTime &&\n    record.since >= noted.since + 2 * settings.electionDurationMs;',
    'view.at >= noted.since + 2 * settings.electionDurationMs;',
  ]),
  mutant('short-fence', 'fences a Lease only for a second', [
    'election/decide-held.ts',
    'leaseDurationSeconds: Math.ceil(Math.max(record?.durationMs ?? 0, believedUntil - at) / 1000),',
    'leaseDurationSeconds: Math.min(1, Math.ceil(Math.max(record?.durationMs ?? 0, believedUntil - at) / 1000)),',
  ]),
  mutant('fence-is-nobody', 'grants a fenced Lease at once', [
    'election/view.ts',
    "return { kind: 'vacant', need: 'LeaseFenced', lease, reservation: fenced };",
    "return { kind: 'vacant', need: 'LeaseFenced', lease, reservation: at < 0 ? fenced : undefined };",
  ]),
  mutant('never-fences', 'waits forever for a holder that does not know notes', [
    'election/decide-held.ts',
    'if (!isUnaware || !preferred.isAlive) return undefined;',
    'if (!isUnaware || preferred.isAlive) return undefined;',
  ]),
  // Time.
  mutant('wall-clock-expiry', 'judges the expiry of a Lease by its own wall clock', [
    'election/observe-lease.ts',
    '  { monotonic: at }: Now,\n  settings: ElectionSettings,\n  coordinatingSince?: Instant,\n  lateMs = 0,\n): LeaseMemory {\n  if (!lease)',
    '  { monotonic, wall }: Now,\n  settings: ElectionSettings,\n  coordinatingSince?: Instant,\n  lateMs = 0,\n): LeaseMemory {\n  const at = lease?.renewTime === undefined ? monotonic : monotonic - Number(wall - lease.renewTime) / 1000;\n  if (!lease)',
  ]),
  mutant('early-expiry', 'treats a Lease as expired after four fifths of its duration', [
    'election/observe-lease.ts',
    'const durationMs = (leaseDurationSeconds ?? settings.leaseDurationSeconds) * 1000;',
    'const durationMs = (leaseDurationSeconds ?? settings.leaseDurationSeconds) * 800;',
  ]),
  mutant('ping-by-own-clock', 'writes the time of its own wall clock into pingTime', [
    'election/candidate-observation.ts',
    'if (candidate.renewTime === undefined) return now.wall;',
    'if (candidate.renewTime !== now.wall) return now.wall;',
  ]),
  mutant('ping-not-after-renewal', 'writes the renewTime of a candidate into its pingTime', [
    'election/candidate-observation.ts',
    'const pingTime = candidate.renewTime + (seenForMicros > 0n ? seenForMicros : 1n);',
    'const pingTime = candidate.renewTime + (seenForMicros > 0n ? 0n : 0n);',
  ]),
  // Never two leaders.
  mutant('deletion-forgets-holder', 'grants a deleted Lease to another candidate at once', [
    'election/observe-lease.ts',
    "const lost = isReplaced ? supposed : withLoss(supposed, at, 'perhaps');",
    'const lost = { ...supposed, beliefs: isReplaced ? supposed.beliefs : [] };',
  ]),
  mutant(
    'deleted-at-last-renewal',
    'counts the reservation of a deleted Lease from the last renewal that it has seen',
    ['election/observe-lease.ts', "withLoss(supposed, at, 'perhaps');", "withLoss(supposed, at, 'no');"],
  ),
  mutant('emptied-is-released', 'treats every emptied Lease as released', [
    'election/observe-lease.ts',
    'if (isRelease && isBelieved) {',
    'if (isRelease || at >= 0) {',
  ]),
  mutant('no-doubt', 'trusts a release that may come from a former leader', [
    'election/observe-lease.ts',
    '!mayBeDisturbed(allBeliefs(memory), record.holder, writtenAfter);',
    'at >= 0;',
  ]),
  mutant(
    'no-doubt-after-built-in',
    'assumes that a leader is awake when the built-in has granted its Lease to another candidate',
    [
      'election/observe-lease.ts',
      'next = withUnseenHolder(next, lease, at, isOwnGrant);',
      'if (lease.acquireTime !== lease.renewTime && !isSameHolder) next = { ...next, beliefs: next.beliefs.map((one) => ({ ...one, isParticipant: true })) };',
    ],
  ),
  mutant('stolen-is-not-reserved', 'forgets the holder of a Lease when another client writes a new holder', [
    'election/observe-lease.ts',
    "next = withLoss(next, at, lease.isUnrenewedGrant ? 'before' : 'perhaps', written.durationMs);",
    'next = { ...next, beliefs: [] };',
  ]),
  mutant('trusts-first-list', 'assumes that a Lease missing in its first list never existed', [
    'election/former-holders.ts',
    "if (!hadElection || (lease && beginning === 'takeOver')) return memory;",
    "if (!hadElection || !lease || beginning === 'takeOver') return memory;",
  ]),
  mutant(
    'lost-grant-forgotten',
    'forgets its own grant when the answer is lost',
    [
      'election/former-holders.ts',
      'const isSupposed = grantOnItsWay !== undefined && grantOnItsWay.holder !== holder;',
      'const isSupposed = grantOnItsWay !== undefined && at < 0;',
    ],
    [
      'election/former-holders.ts',
      'lostGrants: [...lostGrants, supposed(memory, grantOnItsWay, at, at + gapMs)],',
      'lostGrants,',
    ],
  ),
  mutant('reserved-for-third-party', 'leaves a reserved Lease to a third-party controller', [
    'election/decide-vacant.ts',
    "if (outlook.kind === 'thirdParty')",
    "if (outlook.kind === 'thirdParty' && view.at < 0)",
  ]),
  mutant(
    'revises-renewed-grant',
    'revises a grant that its holder has renewed',
    [
      'election/lease-memory.ts',
      'record.renewTime === unrenewedGrant.renewTime;',
      'record.renewTime !== 0n;',
    ],
    [
      'election/lease-memory.ts',
      'isGrantUnrenewed(memory, lease) && reservationFor(blockingBeliefs(memory), at) === undefined;',
      'isGrantUnrenewed(memory, lease);',
    ],
    [
      'election/observe-lease.ts',
      'if (resourceVersion === lease.resourceVersion) return memory;',
      'if (resourceVersion !== "") return memory;',
    ],
    [
      'election/observe-lease.ts',
      'unrenewedGrant: isAsGranted ? unrenewedGrant : undefined,',
      'unrenewedGrant,',
    ],
  ),
  mutant('transitions-not-counted', 'does not increase leaseTransitions when the holder changes', [
    'coordination/lease-patch.ts',
    'leaseTransitions: change.leaseTransitions,\n        strategy: change.strategy,',
    'strategy: change.strategy,',
  ]),
  mutant('transitions-reset', 'sets leaseTransitions to 0 with each grant', [
    'coordination/lease-patch.ts',
    'leaseTransitions: change.leaseTransitions,\n        strategy: change.strategy,',
    'leaseTransitions: 0 * change.leaseTransitions,\n        strategy: change.strategy,',
  ]),
  // Grants that the new holder does not renew.
  mutant('grant-stands', 'never replaces a grant that the new holder does not renew', [
    'election/decide-held.ts',
    'const isLate = at >= lateAt;',
    'const isLate = at >= lateAt + Number.MAX_VALUE;',
  ]),
  mutant('lapses-do-not-count', 'holds back no candidate for grants that were not taken up', [
    'election/view.ts',
    'if (excess <= 0) return undefined;',
    'if (excess <= 1000) return undefined;',
  ]),
  // One coordinator.
  mutant(
    'no-lock',
    'writes without checking the lock',
    [
      'controller/sender.ts',
      'if (!mayWrite()) throw new LockLostError();',
      'if (mayWrite === undefined) throw new LockLostError();',
    ],
    [
      'controller/scheduler.ts',
      'const closedUntil = mayWrite() ? this.#gate.closedUntil(key, LEASE) : Number.POSITIVE_INFINITY;',
      'const closedUntil = mayWrite !== undefined ? this.#gate.closedUntil(key, LEASE) : Number.POSITIVE_INFINITY;',
    ],
  ),
  mutant('no-renew-deadline', 'continues when it cannot renew its lock', [
    'controller/lock/coordinator-lock.ts',
    'return this.#renewedAt !== undefined && clock.now() < this.#renewedAt + RENEW_DEADLINE_MS;',
    'return this.#renewedAt !== undefined && clock.now() < this.#renewedAt + 100 * RENEW_DEADLINE_MS;',
  ]),
  mutant('lock-expires-early', 'takes the lock after half of its duration', [
    'controller/lock/lock-decision.ts',
    'const expiresAt = seenAt + foundMs;',
    'const expiresAt = seenAt + foundMs / 2;',
  ]),
  mutant('force-without-wait', 'acts at once after a claim by force', [
    'controller/lock/lock-decision.ts',
    'actFrom: now + Math.max(foundMs, LEASE_DURATION_MS), ousted',
    'actFrom: now, ousted',
  ]),
  mutant(
    'claim-answer-lost',
    'forgets the former coordinator when the answer to its claim by force is lost',
    [
      'controller/lock/coordinator-lock.ts',
      'if (isConflict(error)) this.#actFromIfRefused = formerActFrom;',
      'if (error) this.#actFrom = formerActFrom;',
    ],
  ),
  mutant('set-back-lock', 'acts at once on a lock that a restored backup has given back to it', [
    'controller/lock/lock-decision.ts',
    'former && record.leaseTransitions < former.leaseTransitions',
    'former && record.leaseTransitions < 0',
  ]),
  mutant('slow-writes', 'gives up its writes too late for the lock', [
    'controller/sender.ts',
    'deadlineMs: LONGEST_WRITE_MS });',
    'deadlineMs: 10 * LONGEST_WRITE_MS });',
  ]),
  // Life.
  mutant('acks-count-twice', 'elects by an answer that an earlier election has used', [
    'election/candidate-observation.ts',
    'if (ping?.ackedAt === undefined || ping.ackedAt <= decidedAt) return freshUntil;',
    'if (ping?.ackedAt === undefined || decidedAt === Number.MAX_VALUE) return freshUntil;',
  ]),
  mutant('silence-is-no-answer', 'waits forever for an answer to a ping', [
    'election/candidate-observation.ts',
    'return deliveredAt + settings.electionDurationMs + (deliveredAt - sentAt);',
    'return deliveredAt + 1000 * settings.electionDurationMs + (deliveredAt - sentAt);',
  ]),
  mutant('no-revival', 'never pings silent candidates again', [
    'election/ask.ts',
    'const count = Math.min(2 ** (view.input.memory.rounds.count + 1), MAX_ASKED);',
    'const count = Math.min(0 * view.input.memory.rounds.count, MAX_ASKED);',
  ]),
  mutant(
    'impatient-collection',
    'deletes candidates that it has not pinged',
    [
      'election/decide-housekeeping.ts',
      'if (collection && collection.pings >= COLLECTION_PINGS) {',
      'if (!collection || collection.pings >= COLLECTION_PINGS) {',
    ],
    [
      'election/decide-housekeeping.ts',
      'const deletableAt = collection.firstAt + COLLECTION_WATCH_MS;',
      'const deletableAt = (collection?.firstAt ?? 0) + 0 * COLLECTION_WATCH_MS;',
    ],
    [
      'election/decide-housekeeping.ts',
      'if (isHolder) return { now: undefined, next: never };\n  const { ping, collection } = observation;',
      'const { ping, collection } = observation;',
    ],
  ),
  // Preferences and strategies.
  mutant('never-prefers', 'never tells a holder to yield to a better candidate', [
    'election/decide-held.ts',
    'if (outcome.leader.name !== tenure.holder) return decidePreemption(view, outcome);',
    'if (outcome.leader.name !== tenure.holder && view.at < 0) return decidePreemption(view, outcome);',
  ]),
  mutant('newest-first', 'elects the highest emulationVersion', [
    'election/strategies.ts',
    'return left.compare(right);',
    'return right.compare(left);',
  ]),
  mutant('age-evicts', 'tells a holder to yield to an older candidate of the same version', [
    'election/strategies.ts',
    'comparePreemption: (a, b) => compareBy(evicting, a, b),',
    'comparePreemption: (a, b) => compareBy(all, a, b),',
  ]),
  mutant('version-evicts-newest', 'tells a holder to yield to a newer version under NewestVersion', [
    'election/strategies.ts',
    'choosing: [',
    'preempting: [',
  ]),
  mutant('priority-for-ever', 'does not notice that a priority has ended', [
    'election/model.ts',
    'if (end === undefined || wall < end.at) return candidate;',
    'if (end === undefined || wall !== end.at) return candidate;',
  ]),
  mutant('priority-never-preempts', 'tells no holder to yield to a higher priority', [
    'election/strategies.ts',
    'comparePreemption: (a, b) => compareBy(evicting, a, b),',
    'comparePreemption: (a, b) => compareBy(evicting.slice(1), a, b),',
  ]),
  mutant('conflict-is-none', 'uses the first of two strategies in a conflict', [
    'election/outcome.ts',
    "return roots.length === 1 ? { kind: 'resolved', strategy: root } : conflictBetween(all);",
    "return roots.length >= 1 ? { kind: 'resolved', strategy: root } : conflictBetween(all);",
  ]),
  mutant('lost-strategy', 'does not correct the strategy of a Lease', [
    'election/decide-held.ts',
    "return { reason: 'StrategyChanged', actions: nameStrategy(view, outcome.strategy) };",
    "return { reason: 'StrategyChanged', actions: nameStrategy(view, outcome.strategy).slice(1) };",
  ]),
  // The time of the next decision.
  mutant(
    'no-look-at-expiry',
    'does not decide when a Lease expires',
    ['election/decide-held.ts', '...[expiresAt, nextWaveAt(view), ackDeadline(view)]', ''],
    [
      'election/decide-held.ts',
      'if (view.at < lateAt) return { ...verdict, lateAt };',
      'if (view.at < lateAt) return verdict;',
    ],
  ),
  mutant('busy-when-settled', 'pings all candidates every minute', [
    'election/decide-housekeeping.ts',
    'const SILENT_AFTER_MS = 6 * 60_000;',
    'const SILENT_AFTER_MS = 60_000;',
  ]),
  // Watches.
  mutant(
    'goes-on-after-410',
    'continues a watch from a position that the server no longer has',
    [
      'kubernetes/recovery.ts',
      "reason === 'Gone') return 'forgotten';",
      "reason === 'Gone') return 'refused';",
    ],
    [
      // The program also stops retrying a place that was refused this often.
      'kubernetes/reflector.ts',
      'const MAX_REFUSALS = 5;',
      'const MAX_REFUSALS = 5000;',
    ],
  ),
  mutant('skips-changes', 'continues a watch some changes after the last one that it has seen', [
    'kubernetes/list-watch.ts',
    'resourceVersion: request.resourceVersion,',
    'resourceVersion: String(Number(request.resourceVersion) + 5),',
  ]),
  mutant('stalled-watch', 'never notices a stalled watch', [
    'kubernetes/list-watch.ts',
    'if (remainingMs <= 0) stall.abort();',
    'if (remainingMs <= 0) stopStallTimer = () => {};',
  ]),
  mutant('no-rediscovery', 'does not look for the API again after it has disappeared', [
    'controller/watches.ts',
    'onNotServed: () => this.#end(),\n      onSynced: () => {',
    'onSynced: () => {',
  ]),
  mutant(
    'useless-lock',
    'keeps the lock when its API server has lost the API, although another server may have it',
    [
      'controller/lock/coordinator-lock.ts',
      "if (decision.kind === 'renew' && this.#shouldRelease()) return await this.#letGo();",
      '',
    ],
  ),
  mutant('blind-to-restore', 'does not notice a restored backup', [
    'kubernetes/reflector.ts',
    'if (isResumed) await assertNotRestored(client, { path, query, resourceVersion, signal });',
    '',
  ]),
  mutant('believes-made-up-ends', 'treats a holder as ended when the kubelet does not know its state', [
    'election/holder-end.ts',
    "if (isMadeUp(instance)) return unproven('EndMadeUp');",
    '',
  ]),
  mutant('ends-by-former-run', 'treats a holder as ended when a former run of its container has ended', [
    'election/holder-end.ts',
    'container.ended.find((ended) => ranAt(ended, renewTime))',
    'container.ended[0]',
  ]),
  mutant('empties-without-proof', 'empties the Lease of a plain elector that has not ended', [
    'election/decide.ts',
    "if (holderEndIn(input)?.kind !== 'ends') return { reason };\n  if (tenure.kind === 'held') return { reason, recheckAt: [tenure.expiresAt] };\n  if (tenure.need !== 'HolderEnded') return { reason };",
    "if (tenure.kind !== 'held') return { reason };",
  ]),
  mutant('ends-by-any-container', 'treats a holder as ended when any container of its Pod has ended', [
    'election/holder-binding.ts',
    'return pod.containers.length === 1 ? pod.containers[0] : undefined;',
    'return pod.containers.findLast(({ ended }) => ended.length > 0) ?? pod.containers[0];',
  ]),
];
