import nock from 'nock';
import { afterEach, beforeEach } from 'vitest';

/** In each test of the file, requests reach only nock's interceptors. */
export function blockNetwork(): void {
  beforeEach(() => {
    nock.disableNetConnect();
  });
  afterEach(() => {
    nock.abortPendingRequests();
    nock.cleanAll();
    nock.enableNetConnect();
    nock.restore();
    nock.activate();
  });
}
