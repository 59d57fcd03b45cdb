---------------------------- MODULE LeaseElection ----------------------------
(* Never two leaders of one Lease: coordinated leader election (KEP-4355), with the rules 8, 10, 12 and 14 of docs/concepts/rules.md. *)
(* README.md says what is modelled, at what size it was checked, what was found, and what is assumed.                          *)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
  Electors,      \* Programs that may lead.
  Participants,  \* Those of them that release nothing but their own; all others release as client-go does.
  Coordinators,  \* Replicas of the coordinator.
  Granted,       \* Ticks that a Lease lasts as the coordinator grants it.
  Renewed,       \* Ticks that it lasts as its holder renews it, and the longest time that any Lease lasts.
  Margin, Drift, \* A holder stops Margin ticks early by its clock, which is up to Drift ticks late.
  Sleep,         \* A leader that has lost its Lease releases it at most so many ticks after its last renewal.
  Lag,           \* A watch is at most so many ticks behind.
  Vandals, Failovers, Restarts, Lost, Fences, Revisions, Deaths, \* How often each of these may happen.
  Off,           \* Clauses of the rules that are switched off, to see that they are needed.
  None, Fence, Stranger, \* Holders that are no electors: none, the fence of rule 14, and who is written there by a third hand.
  Other          \* In a coordinator's memory: whoever is no elector.

VARIABLES
  lease,   \* The Lease in the API server.
  hasRead, \* Electors that have read the Lease as it is: their update would succeed.
  age,     \* By elector: ticks since its last renewal; Forgotten if it cannot release any more.
  memory,  \* By coordinator: what it remembers.
  active,  \* The coordinator that has the lock. At most one writes at any time (rule 10).
  budget,  \* How often each fault may still happen.
  dead,    \* Electors that have ended without a word.
  ledBy,   \* For the invariants: who has led under the Lease's present leaseTransitions.
  fenced   \* For the invariants: ticks for which a fence is still to be kept.

vars == <<lease, hasRead, age, memory, active, budget, dead, ledBy, fenced>>

On(clause) == clause \notin Off
Max(a, b) == IF a > b THEN a ELSE b
Less(n) == Max(n - 1, 0)
Forgotten == Sleep + 1
Short == 0 \* Stands for the one second that a released Lease lasts.
Sleepers == Electors \ Participants
Slots == Electors \cup {Other}
SlotOf(holder) == IF holder \in Electors THEN holder ELSE Other
Everybody(n) == [s \in Slots |-> n]

Gone == [exists |-> FALSE, holder |-> None, lasts |-> 0, writer |-> None]

Blank == [
  known |-> FALSE,       \* Whether it has listed the Lease.
  view |-> [exists |-> FALSE, holder |-> None], \* The Lease as it was seen last.
  change |-> "same",     \* What has become of it unseen: edited (same renewTime), renewed (another one), replaced (another uid).
  moves |-> 0,           \* How far leaseTransitions have moved unseen: 0, 1 or more.
  may |-> Everybody(0),  \* For how many ticks each may still believe that it leads.
  late |-> Everybody(0), \* For how many ticks each may still release what is not its own any more.
  provisional |-> FALSE, \* Whether it is as our grant left it (rule 12),
  offer |-> 0,           \* for how many ticks that grant still lasts,
  sent |-> None,         \* and to whom a grant was sent whose answer is missing.
  lag |-> 0]             \* Since how many ticks the view is behind.

Init ==
  /\ lease = Gone
  /\ hasRead = {}
  /\ age = [e \in Electors |-> Forgotten]
  /\ memory = [c \in Coordinators |-> [Blank EXCEPT !.known = TRUE]]
  /\ active \in Coordinators
  /\ budget = [vandals |-> Vandals, failovers |-> Failovers, restarts |-> Restarts, lost |-> Lost, fences |-> Fences,
               revisions |-> Revisions, deaths |-> Deaths]
  /\ dead = {}
  /\ ledBy = None
  /\ fenced = 0

\* A write, by whomever. It changes the resourceVersion, so that no update fits that was decided on the state before.
Write(exists, holder, lasts, writer) ==
  /\ lease' = [exists |-> exists, holder |-> holder, lasts |-> lasts, writer |-> writer]
  /\ hasRead' = {}

\* The memories after a write that their coordinators have not seen.
AfterUnseen(change, moves) ==
  LET worse(was) == IF "replaced" \in {was, change} THEN "replaced"
                    ELSE IF "renewed" \in {was, change} THEN "renewed" ELSE "edited"
  IN [c \in Coordinators |-> IF ~memory[c].known THEN memory[c] ELSE
        [memory[c] EXCEPT !.change = worse(@), !.moves = IF moves /\ @ < 2 THEN @ + 1 ELSE @]]

Spend(fault) == budget[fault] > 0 /\ budget' = [budget EXCEPT ![fault] = @ - 1]

(* ------------------------------------------------ Electors ------------------------------------------------ *)

Believes(e) == age[e] < Renewed - Margin + Drift

\* It leads only once its own update has succeeded; until then it has only read its name.
Read(e) ==
  /\ e \notin dead \cup hasRead /\ lease.exists /\ lease.holder = e
  /\ hasRead' = hasRead \cup {e}
  /\ UNCHANGED <<lease, age, memory, active, budget, dead, ledBy, fenced>>

\* It may have slept since it has read. An update that takes long only shortens what the holder believes.
Renew(e) ==
  /\ e \in hasRead \ dead
  /\ Write(TRUE, e, Renewed, e)
  /\ age' = [age EXCEPT ![e] = 0]
  /\ memory' = AfterUnseen("renewed", FALSE)
  /\ ledBy' = IF ledBy \in {None, e} THEN e ELSE Other
  /\ UNCHANGED <<active, budget, dead, fenced>>

\* It has stopped, and empties the Lease. client-go reads it afresh for its resourceVersion only, and empties whatever it finds.
Release(e) ==
  /\ age[e] < Forgotten /\ e \notin dead /\ lease.exists
  /\ (e \in Participants /\ On("OwnReleaseOnly")) => lease.writer = e
  /\ age' = [age EXCEPT ![e] = Forgotten]
  /\ Write(TRUE, None, Short, e)
  /\ memory' = AfterUnseen("renewed", FALSE)
  /\ UNCHANGED <<active, budget, dead, ledBy, fenced>>

Die(e) ==
  /\ Spend("deaths")
  /\ dead' = dead \cup {e}
  /\ UNCHANGED <<lease, hasRead, age, memory, active, ledBy, fenced>>

(* ------------------------------------------ A third hand on the Lease ------------------------------------------ *)

Delete == Write(FALSE, None, 0, None) /\ memory' = AfterUnseen("replaced", TRUE) /\ ledBy' = None

Empty == \* Not as a release does: renewTime and duration stay.
  /\ lease.holder # None
  /\ Write(TRUE, None, lease.lasts, Stranger) /\ memory' = AfterUnseen("edited", FALSE) /\ UNCHANGED ledBy

Steal == \* A stranger for a short time. leaseTransitions stay.
  /\ lease.holder # Stranger
  /\ Write(TRUE, Stranger, 1, Stranger) /\ memory' = AfterUnseen("edited", FALSE) /\ UNCHANGED ledBy

Vandalize == Spend("vandals") /\ lease.exists /\ (Delete \/ Empty \/ Steal) /\ UNCHANGED <<age, active, dead, fenced>>

(* ------------------------------------- What a coordinator learns (rule 8) ------------------------------------- *)

\* h has led, or may have, and may believe in it for n more ticks.
Led(m, h, n) == [m EXCEPT !.may[SlotOf(h)] = Max(@, n), !.late[SlotOf(h)] = IF h \in Sleepers THEN 2 * Renewed ELSE @]

Seen(m, l) == [m EXCEPT !.known = TRUE, !.view = [exists |-> l.exists, holder |-> l.holder], !.change = "same", !.moves = 0,
                        !.provisional = FALSE, !.offer = 0, !.sent = None, !.lag = 0]

Granting(m, e) == [Seen(m, [exists |-> TRUE, holder |-> e]) EXCEPT !.provisional = TRUE, !.offer = Granted]

LongestOf(l) == IF On("LongestAtFirst") THEN Renewed ELSE l.lasts

\* A Lease at the first list. Nobody knows what was before, but that the time of a former holder was over when a candidate got it.
AtFirst(m, l) ==
  LET doubt == IF l.exists /\ l.holder \in Electors THEN Renewed ELSE 2 * Renewed
      n == [Seen(m, l) EXCEPT !.late = [s \in Slots |-> IF s \in Sleepers /\ On("DoubtAtFirst") THEN Max(@[s], doubt) ELSE @[s]]]
      waiting == [n EXCEPT !.may = [s \in Slots |-> Renewed]] IN
  IF ~l.exists THEN IF On("MissingAtFirst") THEN waiting ELSE n
  ELSE IF l.holder # None THEN Led(n, l.holder, LongestOf(l))
  ELSE IF On("EmptyAtFirst") /\ l.writer \notin Participants THEN waiting ELSE n

\* What may have happened between two looks: a grant whose answer was lost may have been taken up; so may the last one.
Suspecting(m, l) ==
  IF m.sent # None /\ ~(m.view.exists /\ m.change = "same")
  THEN IF On("UnknownGrant") THEN Led(m, m.sent, Renewed) ELSE m
  ELSE IF m.provisional /\ m.change # "edited" THEN [m EXCEPT !.may[m.view.holder] = Max(@, m.offer)] ELSE m

\* A Lease that has changed otherwise than by the coordinator's own grant.
Changed(m, l) ==
  LET h == m.view.holder
      n == Seen(m, l)
      wasHeld == m.view.exists /\ h # None
      isHeld == l.exists /\ l.holder # None
      isRelease == l.exists /\ l.holder = None /\ l.lasts = Short /\ m.change = "renewed" /\ h # Fence
      isDoubted == On("Doubt") /\ l.writer \notin Participants /\ \E s \in Slots \ {h} : m.late[s] > 0
      \* h may have renewed, unseen, right before.
      isRenewedUnseen == wasHeld /\ CASE m.change = "edited" -> FALSE
                                      [] m.change = "replaced" -> On("DeletionFromSight")
                                      [] OTHER -> On("UnseenRenewal")
      kept == IF ~wasHeld THEN n ELSE IF ~On("Reserve") THEN [n EXCEPT !.may[SlotOf(h)] = 0]
              ELSE IF isRenewedUnseen THEN Led(n, h, Renewed) ELSE n
      \* Only to a candidate is a Lease granted, and only a grant or a deletion moves leaseTransitions.
      explained == IF (isHeld /\ l.holder \notin {Stranger, h}) \/ (~l.exists /\ m.view.exists) THEN 1 ELSE 0
  IN
  IF On("GapIsFirst") /\ m.moves > explained
  THEN LET first == AtFirst(kept, l) IN [first EXCEPT !.may = [s \in Slots |-> Max(@[s], kept.may[s])]]
  ELSE IF isHeld /\ l.holder = h /\ m.change = "renewed" THEN Led(n, h, LongestOf(l))
  ELSE IF isHeld THEN
    \* Another coordinator has granted it when the time of the former holder was over, who may still release it for a duration.
    LET isGrant == wasHeld /\ l.holder \in Electors /\ m.change = "renewed"
        doubted == [n EXCEPT !.may[SlotOf(h)] = 0, !.late[SlotOf(h)] = IF h \in Sleepers THEN Renewed ELSE 0]
        former == IF isGrant THEN doubted ELSE kept
        known == IF On("DoubtAfterOthersGrant") \/ ~wasHeld THEN former ELSE [former EXCEPT !.late[SlotOf(h)] = 0]
    IN Led(known, l.holder, LongestOf(l))
  ELSE IF wasHeld /\ isRelease /\ ~isDoubted THEN [n EXCEPT !.may[SlotOf(h)] = 0, !.late[SlotOf(h)] = 0]
  ELSE kept

See(c) ==
  LET m == memory[c]
      isOwnGrant == m.sent # None /\ lease.writer = c /\ lease.holder = m.sent IN
  /\ m.change # "same" \/ m.sent # None \/ (~m.known /\ (c = active \/ budget.failovers > 0))
  /\ memory' = [memory EXCEPT ![c] =
       IF ~m.known THEN AtFirst(m, lease)
       ELSE IF isOwnGrant THEN Granting(m, m.sent)
       ELSE IF m.change = "same" THEN Seen(Suspecting(m, lease), lease)
       ELSE Changed(Suspecting(m, lease), lease)]
  /\ UNCHANGED <<lease, hasRead, age, active, budget, dead, ledBy, fenced>>

(* ----------------------------------------- What a coordinator writes ----------------------------------------- *)

\* An update names the resourceVersion that it was decided on; a create succeeds if there is no Lease, whatever was in between.
CanWrite(c) ==
  LET m == memory[c] IN
  /\ c = active /\ m.known /\ m.sent = None
  /\ m.view.exists = lease.exists
  /\ On(IF lease.exists THEN "CompareAndSwap" ELSE "FreshBeforeCreate") => m.change = "same"

HasHolder(m) == m.view.exists /\ m.view.holder # None /\ (m.may[SlotOf(m.view.holder)] > 0 \/ m.offer > 0)

\* To a candidate that answers, when nobody else may believe. A provisional grant may be replaced (rule 12).
Grant(c, e) ==
  LET m == memory[c]
      isRevision == HasHolder(m)
      others == AfterUnseen(IF lease.exists THEN "renewed" ELSE "replaced", lease.holder # e)
      spent == IF isRevision THEN [budget EXCEPT !.revisions = @ - 1] ELSE budget
  IN
  /\ CanWrite(c) /\ e \notin dead
  /\ m.view.holder = e => On("GrantAnew")
  /\ \A s \in Slots \ {e} : m.may[s] = 0
  /\ isRevision => m.provisional /\ m.may[m.view.holder] = 0 /\ e # m.view.holder /\ budget.revisions > 0
  /\ Write(TRUE, e, Granted, c)
  /\ ledBy' = IF lease.holder = e \/ ~On("CountGrants") THEN ledBy ELSE None
  /\ \/ memory' = [others EXCEPT ![c] = Granting(m, e)] /\ budget' = spent
     \/ memory' = [others EXCEPT ![c].sent = e] /\ spent.lost > 0 /\ budget' = [spent EXCEPT !.lost = @ - 1]
  /\ UNCHANGED <<age, active, dead, fenced>>

\* A grant to nobody, instead of a holder that cannot be told to give way (rule 14).
WriteFence(c) ==
  LET m == memory[c]
      h == m.view.holder
      n == IF On("DoubtAfterFence") THEN m ELSE [m EXCEPT !.late[SlotOf(h)] = 0] IN
  /\ Spend("fences")
  /\ CanWrite(c) /\ HasHolder(m) /\ h \in Electors /\ ~m.provisional
  /\ Write(TRUE, Fence, Renewed, c)
  /\ memory' = [AfterUnseen("renewed", TRUE) EXCEPT ![c] = Led(Seen(n, lease'), Fence, Renewed)]
  /\ ledBy' = None
  /\ fenced' = Renewed
  /\ UNCHANGED <<age, active, dead>>

\* Another one gets the lock, and remembers what it saw while it watched. The former one begins anew.
Failover ==
  /\ Spend("failovers")
  /\ active' \in Coordinators \ {active}
  /\ memory' = [memory EXCEPT ![active] = Blank]
  /\ UNCHANGED <<lease, hasRead, age, dead, ledBy, fenced>>

Restart(c) ==
  /\ Spend("restarts")
  /\ memory' = [memory EXCEPT ![c] = Blank]
  /\ UNCHANGED <<lease, hasRead, age, active, dead, ledBy, fenced>>

(* --------------------------------------------------- Time --------------------------------------------------- *)

Tick ==
  /\ \A c \in Coordinators : memory[c].change = "same" \/ memory[c].lag < Lag
  /\ age' = [e \in Electors |-> IF age[e] < Forgotten THEN age[e] + 1 ELSE Forgotten]
  /\ fenced' = Less(fenced)
  /\ memory' = [c \in Coordinators |-> [memory[c] EXCEPT
       !.may = [s \in Slots |-> Less(@[s])], !.late = [s \in Slots |-> Less(@[s])], !.offer = Less(@),
       !.lag = IF memory[c].change = "same" THEN 0 ELSE @ + 1]]
  /\ UNCHANGED <<lease, hasRead, active, budget, dead, ledBy>>

Next ==
  \/ \E e \in Electors : Read(e) \/ Renew(e) \/ Release(e) \/ Die(e)
  \/ \E c \in Coordinators : See(c) \/ WriteFence(c) \/ Restart(c) \/ \E e \in Electors : Grant(c, e)
  \/ Vandalize \/ Failover \/ Tick

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Sleepers) \cup Permutations(Participants) \cup Permutations(Coordinators)

(* ------------------------------------------------ What must hold ------------------------------------------------ *)

NeverTwoLeaders == \A e, f \in Electors : Believes(e) /\ Believes(f) => e = f
NumbersAreUnique == ledBy # Other
FencesAreKept == fenced > 0 => lease.holder \notin Electors

\* An elector does not renew what has expired before its eyes: somebody has to grant it anew.
ReadUnexpired(e) == Read(e) /\ ~(lease.writer = e /\ age[e] >= Renewed)
FairSpec ==
  /\ Spec /\ WF_vars(Tick)
  /\ \A c \in Coordinators : WF_vars(See(c)) /\ SF_vars(\E e \in Electors : Grant(c, e))
  /\ \A e \in Electors : SF_vars(ReadUnexpired(e)) /\ SF_vars(Renew(e))
IsLed == \E e \in Electors : Believes(e) /\ e \notin dead
LedAgain == []<>IsLed
=============================================================================
