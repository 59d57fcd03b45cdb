import { vi } from 'vitest';
import './suites/elections.ts';
import './suites/left-alone.ts';

// Files are run one after the other, on a small machine. These tests wait for Leases to expire, most of the time: all of
// them wait at the same time.
vi.setConfig({ maxConcurrency: 100, testTimeout: 120_000, hookTimeout: 120_000 });
