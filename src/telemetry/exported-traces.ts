import type { OtlpSettings } from '../settings/run-settings.ts';
import type { Clock } from '../support/clock.ts';
import { createTraceFailureReport } from './controller-report.ts';
import { createElectionTraces, type ElectionTraces } from './election-traces.ts';
import type { Logger } from './logger.ts';

/** Traces of elections, exported to an OTLP receiver. */
interface ExportedTraces extends ElectionTraces {
  /** Ends the traces of elections in flight and exports the rest, for at most about a second. */
  stop(): Promise<void>;
}

/** Starts to trace elections. OpenTelemetry is loaded only now. */
export async function startExportedTraces(
  settings: OtlpSettings,
  parts: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly version: string;
    /** The host on which this process runs. */
    readonly host: string;
    readonly isDryRun: boolean;
  },
): Promise<ExportedTraces> {
  const { clock, logger, version, host, isDryRun } = parts;
  const { startOtlpTraces } = await import('./otlp-traces.ts');
  const onFailure = createTraceFailureReport({ logger, now: clock.now });
  const exporter = startOtlpTraces({ settings, clock, version, host, onFailure });
  const traces = createElectionTraces({ now: clock.now, isDryRun, emit: exporter.emit });
  // The rest of the URL may contain a secret.
  logger.info({ receiver: new URL(settings.url).host }, 'Exporting traces');
  return {
    ...traces,
    async stop() {
      traces.standDown();
      await exporter.stop();
    },
  };
}
