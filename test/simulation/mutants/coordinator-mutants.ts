import { type Mutant, mutant } from './mutant.ts';

/** Each clause of the rules stands for a way to get two leaders, none, or a storm: these leave one out, or get it wrong. */
export const COORDINATOR_MUTANTS: readonly Mutant[] = [
  // What a write rests on.
  mutant('lease-without-version', 'writes Leases whatever their resourceVersion is', [
    'coordination/lease-patch.ts',
    'return { metadata: { uid, resourceVersion, ...annotations(notes) }, spec: changedFields(change) };',
    'return { metadata: { uid, ...(resourceVersion === "" && { resourceVersion }), ...annotations(notes) }, spec: changedFields(change) };',
  ]),
  mutant('ping-without-version', 'pings candidates whatever their resourceVersion is', [
    'coordination/lease-patch.ts',
    'return { metadata: { uid, resourceVersion }, spec: { pingTime: formatMicroTime(pingTime) } };',
    'return { metadata: { uid, ...(resourceVersion === "" && { resourceVersion }) }, spec: { pingTime: formatMicroTime(pingTime) } };',
  ]),
  mutant('no-expectations', 'decides again before its cache shows what came of its last write', [
    'controller/write-outcomes.ts',
    "if (awaited?.kind === 'answer') return Number.POSITIVE_INFINITY;",
    "if (awaited !== 'answer') return undefined; else return Number.POSITIVE_INFINITY;",
  ]),
  mutant('endless-expectations', 'waits for ever for a write to show in its cache', [
    'controller/write-outcomes.ts',
    'if (awaited === undefined || this.#clock.now() >= awaited.until) return undefined;',
    'if (awaited === undefined) return undefined;',
  ]),
  // Where candidates come from.
  mutant('pings-native-only', 'asks candidates of every group in the API server’s own', [
    'controller/sender.ts',
    'const apiVersion = apiVersionOf(source);',
    "const apiVersion = apiVersionOf(source === 'custom' ? 'native' : source);",
  ]),
  mutant('hidden-is-gone', 'takes a holder for gone whose candidates are served no more', [
    'election/decide-held.ts',
    'if (at >= hiddenUntil ||',
    'if (at < hiddenUntil ||',
  ]),
  mutant(
    'native-twin-counts',
    'takes the native one of two candidates of a name, whichever of them lives',
    [
      'controller/election-records.ts',
      'if (isLater(a, b) || isLater(b, a)) return',
      'if (isLater(a, a)) return',
    ],
    ['controller/election-records.ts', 'if (ofA !== ofB) return', 'if (ofA < 0n && ofB < 0n) return'],
  ),
  // Leases that were taken from one after the other.
  mutant('forgets-others', 'gives a Lease back to who may believe in it for longest, while others may, too', [
    'election/decide-vacant.ts',
    'if (former && hasAnswered && view.at >= returnsAt) {',
    'if (former && hasAnswered && view.at >= reservation.from) {',
  ]),
  // Servers that drop fields.
  mutant('no-notes', 'keeps no note of what the server drops', [
    'coordination/lease-patch.ts',
    'if (!notes) return {};',
    'if (notes || !notes) return {};',
  ]),
  mutant('note-stays', 'leaves the note of a preferredHolder in place when the Lease is granted', [
    'election/notes.ts',
    "    case 'grant':\n    case 'clearPreferredHolder':\n      return undefined;",
    "    case 'grant':\n      return preferredHolder;\n    case 'clearPreferredHolder':\n      return undefined;",
  ]),
  mutant('fences-at-once', 'fences a holder without giving it the time to heed a note', [
    'election/decide-held.ts',
    'record.since >= noted.since + 2 * settings.electionDurationMs;',
    'record.since >= noted.since - settings.electionDurationMs;',
  ]),
  mutant('fences-the-silent', 'fences a holder that has not renewed since it was told', [
    'election/decide-held.ts',
    'record.renewTime !== noted.renewTime &&\n    record.since >= noted.since + 2 * settings.electionDurationMs;',
    'view.at >= noted.since + 2 * settings.electionDurationMs;',
  ]),
  mutant('short-fence', 'fences a Lease for a second', [
    'election/decide-held.ts',
    'leaseDurationSeconds: Math.ceil(Math.max(record?.durationMs ?? 0, believedUntil - at) / 1000),',
    'leaseDurationSeconds: Math.min(1, Math.ceil(Math.max(record?.durationMs ?? 0, believedUntil - at) / 1000)),',
  ]),
  mutant('fence-is-nobody', 'gives a fenced Lease away at once', [
    'election/view.ts',
    "return { kind: 'vacant', need: 'LeaseFenced', lease, reservation: fenced };",
    "return { kind: 'vacant', need: 'LeaseFenced', lease, reservation: at < 0 ? fenced : undefined };",
  ]),
  mutant('never-fences', 'waits for ever for a holder that knows nothing of notes', [
    'election/decide-held.ts',
    'if (!isUnaware || !preferred.isAlive) return undefined;',
    'if (!isUnaware || preferred.isAlive) return undefined;',
  ]),
  // Time.
  mutant('wall-clock-expiry', 'judges the expiry of a Lease by its own wall clock', [
    'election/observe-lease.ts',
    '  { monotonic: at }: Now,\n  settings: ElectionSettings,\n  coordinatingSince?: Instant,\n): LeaseMemory {\n  if (!lease)',
    '  { monotonic, wall }: Now,\n  settings: ElectionSettings,\n  coordinatingSince?: Instant,\n): LeaseMemory {\n  const at = lease?.renewTime === undefined ? monotonic : monotonic - Number(wall - lease.renewTime) / 1000;\n  if (!lease)',
  ]),
  mutant('early-expiry', 'takes a Lease for expired after four fifths of its duration', [
    'election/observe-lease.ts',
    'const durationMs = (leaseDurationSeconds ?? settings.leaseDurationSeconds) * 1000;',
    'const durationMs = (leaseDurationSeconds ?? settings.leaseDurationSeconds) * 800;',
  ]),
  mutant('ping-by-own-clock', "writes its own wall clock's time into pingTime", [
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
  mutant('deletion-forgets-holder', 'gives a deleted Lease to somebody else at once', [
    'election/observe-lease.ts',
    "const lost = isReplaced ? supposed : withLoss(supposed, at, 'perhaps');",
    'const lost = { ...supposed, beliefs: isReplaced ? supposed.beliefs : [] };',
  ]),
  mutant('deleted-at-last-renewal', 'counts a deletion from the last renewal that it has seen', [
    'election/observe-lease.ts',
    "withLoss(supposed, at, 'perhaps');",
    "withLoss(supposed, at, 'no');",
  ]),
  mutant('emptied-is-released', 'takes every emptied Lease for a released one', [
    'election/observe-lease.ts',
    'if (isRelease && isBelieved) {',
    'if (isRelease || at >= 0) {',
  ]),
  mutant('no-doubt', 'believes in a release that a former leader may have made', [
    'election/observe-lease.ts',
    '!mayBeDisturbed(allBeliefs(memory), record.holder, isListed ? record.since : at);',
    'at >= 0;',
  ]),
  mutant(
    'no-doubt-after-built-in',
    'takes a leader for awake whose Lease the built-in has granted to another',
    [
      'election/observe-lease.ts',
      'if (!isAsGranted) next = withUnseenHolder(next, lease, at, isOwnGrant);',
      'if (lease.acquireTime !== lease.renewTime && !isSameHolder) next = { ...next, beliefs: next.beliefs.map((one) => ({ ...one, isParticipant: true })) };',
    ],
  ),
  mutant('stolen-is-not-reserved', 'forgets the holder of a Lease that somebody else took', [
    'election/observe-lease.ts',
    "next = withLoss(next, at, lease.isUnrenewedGrant ? 'before' : 'perhaps', written.durationMs);",
    'next = { ...next, beliefs: [] };',
  ]),
  mutant(
    'trusts-first-list',
    'takes a Lease that is missing when it begins to watch for one that never was',
    [
      'election/former-holders.ts',
      "if (!hadElection || (lease && beginning === 'takeOver')) return memory;",
      "if (!hadElection || !lease || beginning === 'takeOver') return memory;",
    ],
  ),
  mutant(
    'lost-grant-forgotten',
    'forgets a grant of its own whose answer is lost',
    [
      'election/former-holders.ts',
      'const isSupposed = grantOnItsWay !== undefined && grantOnItsWay.holder !== holder;',
      'const isSupposed = grantOnItsWay !== undefined && at < 0;',
    ],
    [
      'election/former-holders.ts',
      'lostGrants: [...lostGrants, supposed(memory, grantOnItsWay, at, unseenUntil)],',
      'lostGrants,',
    ],
  ),
  mutant('reserved-for-third-party', 'leaves a reserved Lease to the controller of another strategy', [
    'election/decide-vacant.ts',
    "if (reservation && outlook.kind === 'thirdParty')",
    "if (reservation && outlook.kind === 'thirdParty' && view.at < 0)",
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
      '    unrenewedGrant.resourceVersion === lease.resourceVersion\n  ) {',
      '    unrenewedGrant.resourceVersion !== ""\n  ) {',
    ],
    [
      'election/observe-lease.ts',
      'unrenewedGrant: isAsGranted ? unrenewedGrant : undefined,',
      'unrenewedGrant,',
    ],
  ),
  mutant('transitions-not-counted', 'leaves leaseTransitions as it is when the holder changes', [
    'coordination/lease-patch.ts',
    'leaseTransitions: change.leaseTransitions,\n        strategy: change.strategy,',
    'strategy: change.strategy,',
  ]),
  mutant('transitions-reset', 'sets leaseTransitions to 0 with each grant', [
    'coordination/lease-patch.ts',
    'leaseTransitions: change.leaseTransitions,\n        strategy: change.strategy,',
    'leaseTransitions: 0 * change.leaseTransitions,\n        strategy: change.strategy,',
  ]),
  // Grants that are not taken up.
  mutant('grant-stands', 'never replaces a grant that is not taken up', [
    'election/decide-provisional.ts',
    'const isLate = at >= lateAt;',
    'const isLate = at >= lateAt + Number.MAX_VALUE;',
  ]),
  mutant('lapses-do-not-count', 'holds nobody back for grants that were not taken up', [
    'election/view.ts',
    'if (excess <= 0) return undefined;',
    'if (excess <= 1000) return undefined;',
  ]),
  // One coordinator.
  mutant(
    'no-lock',
    'writes without asking whether it has the lock',
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
  mutant('no-renew-deadline', 'goes on when it cannot renew its lock', [
    'controller/lock/coordinator-lock.ts',
    'return this.#renewedAt !== undefined && clock.now() < this.#renewedAt + RENEW_DEADLINE_MS;',
    'return this.#renewedAt !== undefined && clock.now() < this.#renewedAt + 100 * RENEW_DEADLINE_MS;',
  ]),
  mutant('lock-expires-early', 'takes the lock after half of its duration', [
    'controller/lock/lock-decision.ts',
    'const expiresAt = seenAt + foundMs;',
    'const expiresAt = seenAt + foundMs / 2;',
  ]),
  mutant('force-without-wait', 'acts at once when it has ousted another', [
    'controller/lock/lock-decision.ts',
    'actFrom: now + Math.max(foundMs, LEASE_DURATION_MS), ousted',
    'actFrom: now, ousted',
  ]),
  mutant('claim-answer-lost', 'forgets whom it ousted when the answer to its claim is lost', [
    'controller/lock/coordinator-lock.ts',
    'if (isConflict(error)) this.#actFromIfRefused = formerActFrom;',
    'if (error) this.#actFrom = formerActFrom;',
  ]),
  mutant('set-back-lock', 'acts at once on a lock that a backup has made its own again', [
    'controller/lock/lock-decision.ts',
    'return former !== undefined && record.leaseTransitions < former.leaseTransitions;',
    'return former !== undefined && record.leaseTransitions < 0;',
  ]),
  mutant('slow-writes', 'gives its writes up too late for the lock', [
    'controller/sender.ts',
    'deadlineMs: LONGEST_WRITE_MS });',
    'deadlineMs: 10 * LONGEST_WRITE_MS });',
  ]),
  // Life.
  mutant('acks-count-twice', 'elects on an answer that an election before has used up', [
    'election/candidate-observation.ts',
    'ackedAt !== undefined && ackedAt > decidedAt',
    'ackedAt !== undefined && decidedAt < Number.MAX_VALUE',
  ]),
  mutant('silence-is-no-answer', 'waits for ever for an answer to a ping', [
    'election/candidate-observation.ts',
    'return deliveredAt + settings.electionDurationMs + (deliveredAt - sentAt);',
    'return deliveredAt + 1000 * settings.electionDurationMs + (deliveredAt - sentAt);',
  ]),
  mutant('no-revival', 'never asks those who were silent again', [
    'election/ask.ts',
    'const count = Math.min(2 ** Math.min(view.input.memory.rounds.count + 1, 6), MAX_ASKED);',
    'const count = Math.min(0 * view.input.memory.rounds.count, MAX_ASKED);',
  ]),
  mutant(
    'impatient-collection',
    'deletes candidates that it has not asked',
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
  mutant('never-prefers', 'never has a holder give way to a better candidate', [
    'election/decide-held.ts',
    'if (outcome.leader.name !== tenure.holder) return decidePreemption(view, outcome);',
    'if (outcome.leader.name !== tenure.holder && view.at < 0) return decidePreemption(view, outcome);',
  ]),
  mutant('newest-first', 'elects the highest emulationVersion', [
    'election/strategies.ts',
    'return left.compare(right);',
    'return right.compare(left);',
  ]),
  mutant('age-evicts', 'has a holder give way to an older candidate of the same version', [
    'election/strategies.ts',
    'comparePreemption: (a, b) => compareBy(evicting, a, b),',
    'comparePreemption: (a, b) => compareBy(all, a, b),',
  ]),
  mutant('version-evicts-newest', 'has a holder give way to a newer version under NewestVersion', [
    'election/strategies.ts',
    'choosing: [',
    'preempting: [',
  ]),
  mutant('priority-for-ever', 'does not notice that a priority has ended', [
    'election/model.ts',
    'if (end === undefined || wall < end.at) return candidate;',
    'if (end === undefined || wall !== end.at) return candidate;',
  ]),
  mutant('priority-never-preempts', 'has no holder give way to a higher priority', [
    'election/strategies.ts',
    'comparePreemption: (a, b) => compareBy(evicting, a, b),',
    'comparePreemption: (a, b) => compareBy(evicting.slice(1), a, b),',
  ]),
  mutant('conflict-is-none', 'follows the first of two strategies in a conflict', [
    'election/outcome.ts',
    "return roots.length === 1 ? { kind: 'resolved', strategy: root } : conflictBetween(all);",
    "return roots.length >= 1 ? { kind: 'resolved', strategy: root } : conflictBetween(all);",
  ]),
  mutant('lost-strategy', 'does not put the strategy of a Lease right', [
    'election/decide-held.ts',
    "return { reason: 'StrategyChanged', actions: nameStrategy(view, outcome.strategy) };",
    "return { reason: 'StrategyChanged', actions: nameStrategy(view, outcome.strategy).slice(1) };",
  ]),
  // When to look again.
  mutant(
    'no-look-at-expiry',
    'does not look when a Lease runs out',
    [
      'election/decide-held.ts',
      'recheckAt: [...(verdict.recheckAt ?? []), expiresAt, ackDeadline(view), nextWaveAt(view)],',
      'recheckAt: verdict.recheckAt ?? [],',
    ],
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
  // Watching.
  mutant(
    'goes-on-after-410',
    'goes on from where it was when the server has forgotten that place',
    [
      'kubernetes/recovery.ts',
      "if (isForgotten(error)) return 'forgotten';",
      "if (isForgotten(error)) return 'refused';",
    ],
    [
      // A place that was refused so often is given up, too.
      'kubernetes/reflector.ts',
      'const MAX_REFUSALS = 5;',
      'const MAX_REFUSALS = 5000;',
    ],
  ),
  mutant(
    'skips-changes',
    'takes what it was told of last for the newest state: goes on some changes after it',
    [
      'kubernetes/list-watch.ts',
      'resourceVersion: request.resourceVersion,',
      'resourceVersion: String(Number(request.resourceVersion) + 5),',
    ],
  ),
  mutant('stalled-watch', 'never notices that a watch has fallen silent', [
    'kubernetes/list-watch.ts',
    'if (remainingMs <= 0) stall.abort();',
    'if (remainingMs <= 0) stopStallTimer.current = () => {};',
  ]),
  mutant('no-rediscovery', 'does not look for the API again once it has gone', [
    'controller/watches.ts',
    'onNotServed,\n      onSynced: () => {',
    'onSynced: () => {',
  ]),
  mutant('useless-lock', 'keeps the lock though its API server has lost the API, as another may have it', [
    'controller/lock/coordinator-lock.ts',
    "if (decision.kind === 'renew' && this.#shouldLetGo()) return await this.#letGo();",
    '',
  ]),
  mutant('blind-to-restore', 'does not notice that the storage was restored from a backup', [
    'kubernetes/reflector.ts',
    'if (isResumed) await assertNotSetBack(client, { path, query, resourceVersion, signal });',
    '',
  ]),
  mutant('believes-made-up-ends', 'takes a holder for ended when the kubelet has only lost sight of it', [
    'election/holder-end.ts',
    "if (isMadeUp(instance)) return unproven('EndMadeUp');",
    '',
  ]),
  mutant('ends-by-former-run', 'takes a holder for ended when a former run of its container has', [
    'election/holder-end.ts',
    'container.ended.find((ended) => ranAt(ended, renewTime))',
    'container.ended[0]',
  ]),
  mutant('empties-without-proof', 'empties the Lease of a plain elector that has not ended', [
    'election/decide.ts',
    "if (holderEndIn(input)?.kind !== 'ends') return { reason };\n  if (tenure.kind === 'held') return { reason, recheckAt: [tenure.expiresAt] };\n  if (tenure.need !== 'HolderEnded') return { reason };",
    "if (tenure.kind !== 'held') return { reason };",
  ]),
  mutant('ends-by-any-container', 'takes a holder for ended when any container of its Pod has', [
    'election/holder-binding.ts',
    'return pod.containers.length === 1 ? pod.containers[0] : undefined;',
    'return pod.containers.findLast(({ ended }) => ended.length > 0) ?? pod.containers[0];',
  ]),
];
