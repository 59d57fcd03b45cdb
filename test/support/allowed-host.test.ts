import { expect, test } from 'vitest';
import { isAllowedHost } from '../../src/support/allowed-host.ts';

test.each([
  ['127.0.0.1:8080', true],
  ['10.2.3.4', true],
  ['[::1]:8080', true],
  ['[fd00::12]', true],
  ['localhost:8080', true],
  ['LOCALHOST', true],
  ['cle', true],
  ['cle:8080', true],
  ['cle.kube-system.svc:8080', true],
  ['cle.kube-system.svc.cluster.local', true],
  ['cle.kube-system.svc.cluster.local.:8080', true],
  ['board.ops.internal', true],
  ['example.com', false],
  ['localhost.example.com:8080', false],
  ['127.0.0.1.example.com', false],
  ['svc.example', false],
  ['cle..svc', false],
  ['[example.com]', false],
  ['user@localhost', false],
  ['', false],
  [undefined, false],
])('a request for host %j is answered: %j', (host, want) => {
  expect(isAllowedHost(host)).toBe(want);
});
