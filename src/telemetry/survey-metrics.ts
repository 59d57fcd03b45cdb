import { Gauge, type Registry } from 'prom-client';
import type { ElectionsSurvey } from '../controller/elections-survey.ts';
import { reasons } from '../election/reason.ts';
import type { Clock, Instant } from '../support/clock.ts';

/** How all Leases stand, asked for whenever metrics are collected. */
export interface SurveyMetrics {
  /** Says whom to ask; `survey` is told what the one before found of the Leases' redundancy. */
  watch(survey: (known: ElectionsSurvey['redundancy'] | undefined) => Promise<ElectionsSurvey>): void;
}

/** Several gauges are collected at once: one survey serves them all, and no crowd of scrapers can ask for more. */
const SURVEY_AGE_MS = 1000;

/** Registers the gauges over all Leases in `registry`. */
export function createSurveyMetrics(registry: Registry, clock: Clock): SurveyMetrics {
  const registers = [registry];
  let ask: Parameters<SurveyMetrics['watch']>[0] | undefined;
  let last: { readonly at: Instant; readonly survey: ElectionsSurvey; readonly oldestMs: number } | undefined;
  /** Leases without leader that nobody saw lose one, by when they were first found so. */
  let foundUnled = new Map<string, Instant>();

  let asking: Promise<typeof last> | undefined;

  async function current() {
    if (!ask || (last && clock.now() - last.at < SURVEY_AGE_MS)) return last;
    asking ??= look(ask).finally(() => {
      asking = undefined;
    });
    return await asking;
  }

  async function look(surveyAll: NonNullable<typeof ask>) {
    const at = clock.now();
    const survey = await surveyAll(last?.survey.redundancy);
    const found = new Map<string, Instant>();
    let oldest = at;
    for (const { key, since } of survey.unled) {
      if (since === undefined) found.set(key, foundUnled.get(key) ?? at);
      oldest = Math.min(oldest, since ?? found.get(key) ?? at);
    }
    foundUnled = found;
    last = { at, survey, oldestMs: at - oldest };
    return last;
  }

  function gauge(name: string, help: string, read: (now: NonNullable<typeof last>) => number) {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const now = await current();
        if (now) this.set(read(now));
      },
    });
  }

  gauge('cle_leases', 'Leases that have candidates', ({ survey }) => survey.leases);
  gauge(
    'cle_leases_without_leader',
    'Leases that have candidates but no valid holder, but for those whose candidates all ended in good order',
    ({ survey }) => survey.unled.length,
  );
  gauge(
    'cle_oldest_lease_without_leader_seconds',
    'How long the one of cle_leases_without_leader that has been so for longest has been so, as far as this process has seen; 0 when there is none',
    ({ oldestMs }) => oldestMs / 1000,
  );
  gauge(
    'cle_leases_without_successor',
    'Leases that lost their redundancy within a day: candidates that were there beside another for ten minutes have stopped answering, and none but the holder is left to lead',
    ({ survey }) => survey.withoutSuccessor,
  );
  new Gauge({
    name: 'cle_leases_by_reason',
    help: 'Leases by the reason of what was last decided about them; 0 where this replica does not decide',
    labelNames: ['reason'],
    registers,
    async collect() {
      const counts = (await current())?.survey.reasons;
      for (const reason of reasons) this.set({ reason }, counts?.get(reason) ?? 0);
    },
  });
  new Gauge({
    name: 'cle_candidates',
    help: 'LeaseCandidates by what they count for right now',
    labelNames: ['state'],
    registers,
    async collect() {
      for (const [state, count] of Object.entries((await current())?.survey.candidates ?? {})) {
        this.set({ state }, count);
      }
    },
  });

  return {
    watch(survey) {
      ask = survey;
    },
  };
}
