import { Counter, type Registry } from 'prom-client';

type LabelCall = 'list' | 'add' | 'remove';

/** What becomes of leader labels. */
export interface LabelMetrics {
  called(call: LabelCall, isSuccess: boolean): void;
}

const CALLS: readonly LabelCall[] = ['list', 'add', 'remove'];
const RESULTS = ['success', 'error'] as const;

/** Registers the metrics of leader labels in `registry`. */
export function createLabelMetrics(registry: Registry): LabelMetrics {
  const calls = new Counter({
    name: 'cle_leader_label_calls_total',
    help: 'Leader labels put on Pods (add) and taken off (remove), and lists of Pods for labels that are left over; what failed is tried again with backoff',
    labelNames: ['call', 'result'],
    registers: [registry],
  });
  for (const call of CALLS) for (const result of RESULTS) calls.inc({ call, result }, 0);
  return { called: (call, isSuccess) => calls.inc({ call, result: isSuccess ? 'success' : 'error' }) };
}
