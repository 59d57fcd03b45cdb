// Whatever it sends with, a client does the same: its tests once more, with Node's own modules.
import { describe } from 'vitest';
import { makeLeanClients } from './make-client.ts';

makeLeanClients();

describe('with as little memory as can be,', async () => {
  await import('./client.test.ts');
});
