// The same with real connections, which client.test.ts forbids in its file.
import { describe } from 'vitest';
import { makeLeanClients } from './make-client.ts';

makeLeanClients();

describe('with as little memory as can be,', async () => {
  await import('./client-connections.test.ts');
  await import('./client-close.test.ts');
  await import('./client-lists.test.ts');
  await import('./client-proxies.test.ts');
});
