import type { ElectionControllerParts } from '../../src/controller/election-controller.ts';
import { isJsonObject, type JsonObject } from '../../src/support/json.ts';
import { createControllerReport } from '../../src/telemetry/controller-report.ts';
import type { LeaseEvent } from '../../src/telemetry/lease-event.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { ControllerWorld } from '../controller/make-controller.ts';
import { makeCandidateObject } from '../controller/make-objects.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A logger with its parsed lines, and metrics with readable values. */
export function makeTelemetry(level: 'debug' | 'info' = 'info') {
  const lines: JsonObject[] = [];
  const logger = createLogger({
    level,
    clock: new VirtualClock(),
    destination: {
      write: (line: string) => {
        const parsed: unknown = JSON.parse(line);
        if (isJsonObject(parsed)) lines.push(parsed);
      },
    },
  });
  const metrics = createMetrics({ version: 'test', clock: new VirtualClock() });
  return {
    logger,
    metrics,
    lines,
    /** Lines with this message. */
    linesOf: (message: string) => lines.filter(({ msg }) => msg === message),
    /** The value of a metric, by its exported name and labels. */
    async measure(series: string): Promise<number> {
      const text = await metrics.registry.metrics();
      const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? Number.NaN);
    },
  };
}

/** A controller with the report of the program. */
export function makeReportedWorld(parts: Partial<ElectionControllerParts> = {}) {
  const telemetry = makeTelemetry();
  const { logger, metrics } = telemetry;
  const { isDryRun = false } = parts;
  let now = () => 0;
  const events: LeaseEvent[] = [];
  const report = createControllerReport({
    logger,
    metrics,
    now: () => now(),
    isDryRun,
    recordEvent: (event) => events.push(event),
  });
  const world = new ControllerWorld({ observe: report, ...parts });
  now = () => world.clock.now();
  return {
    world,
    report,
    ...telemetry,
    events,
    /** Each Event as `LeaderElected: a leads`. */
    told: () => events.map(({ reason, message }) => `${reason}: ${message}`),
  };
}

/**
 * The same with a Lease that its only candidate `a` leads.
 * @param key of that Lease
 */
export async function makeLedWorld(key: string, parts: Partial<ElectionControllerParts> = {}) {
  const reported = makeReportedWorld(parts);
  const { world } = reported;
  await world.start();
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  await world.clock.advance(2000);
  world.change('leases', key, { renewTime: world.wallText, leaseDurationSeconds: 15 });
  await world.clock.advance(0);
  return reported;
}
