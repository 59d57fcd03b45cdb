import { inject } from 'vitest';

const scope = globalThis as typeof globalThis & { __stryker__?: { activeMutant?: string } };

// Before the tests import the mutated code.
scope.__stryker__ = { activeMutant: inject('mutantId') };
