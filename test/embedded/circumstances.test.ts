import { vi } from 'vitest';
import './suites/api-versions.ts';
import './suites/collection.ts';
import './suites/custom-candidates.ts';
import './suites/outages.ts';
import './suites/quiet.ts';

// Files are run one after the other, on a small machine. These tests wait, most of the time: all of them wait at the same
// time.
vi.setConfig({ maxConcurrency: 100, testTimeout: 120_000, hookTimeout: 120_000 });
