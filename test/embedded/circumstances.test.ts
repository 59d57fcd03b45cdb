import { vi } from 'vitest';
import './suites/api-versions.ts';
import './suites/collection.ts';
import './suites/custom-candidates.ts';
import './suites/outages.ts';
import './suites/quiet.ts';

// On a small machine, test files run one after the other. These tests mostly wait, so all of them run at the same
// time.
vi.setConfig({ maxConcurrency: 100, testTimeout: 120_000, hookTimeout: 120_000 });
