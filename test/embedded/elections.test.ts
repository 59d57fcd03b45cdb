import { vi } from 'vitest';
import './suites/elections.ts';
import './suites/left-alone.ts';

// On a small machine, test files run one after the other. These tests mostly wait for Leases to expire, so all of
// them run at the same time.
vi.setConfig({ maxConcurrency: 100, testTimeout: 120_000, hookTimeout: 120_000 });
