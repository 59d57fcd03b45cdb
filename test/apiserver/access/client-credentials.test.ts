import { KubeConfig } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import {
  generateToken,
  kubeconfigText,
  parseTokenFile,
} from '../../../src/apiserver/access/client-credentials.ts';

describe('parseTokenFile', () => {
  test('reads YAML', () => {
    const text = `# who may come in
- name: alice
  token: abc
  access: admin
  groups: [ops]
- {name: bob, token: def, access: read-only}
- name: carol
  token: "123"
  access:
    - verbs: [get, list, watch]
      groups: [coordination.k8s.io]
      resources: [leases]
      namespaces: [default]
    - {verbs: ["*"], groups: [""], resources: [events]}
`;
    expect(parseTokenFile(text)).toEqual([
      { token: 'abc', user: { name: 'alice', groups: ['ops'] }, rules: 'admin' },
      { token: 'def', user: { name: 'bob', groups: [] }, rules: 'read-only' },
      {
        token: '123',
        user: { name: 'carol', groups: [] },
        rules: [
          {
            verbs: ['get', 'list', 'watch'],
            groups: ['coordination.k8s.io'],
            resources: ['leases'],
            namespaces: ['default'],
          },
          { verbs: ['*'], groups: [''], resources: ['events'] },
        ],
      },
    ]);
  });

  test.each([
    { text: '', want: ['line 1: must be a list of at least one token'] },
    { text: '[]', want: ['line 1: must be a list of at least one token'] },
    { text: 'tokens: []', want: ['line 1: must be a list of at least one token'] },
    { text: '- alice', want: ['line 1: must have name, token and access'] },
    {
      text: '- access: all\n',
      want: [
        'line 1: name must be text',
        'line 1: token must be text without white space',
        'line 1: access must be admin, read-only or a list of rules',
      ],
    },
    {
      text: '- name: a\n  token: 123\n  access: admin\n',
      want: ['line 2: token must be text without white space'],
    },
    {
      text: '- name: a\n  token: b c\n  access: admin\n',
      want: ['line 2: token must be text without white space'],
    },
    {
      text: '- name: a\n  token: t\n  access: admin\n  role: x\n',
      want: ['line 4: role is not known; there are name, token, access, groups'],
    },
    {
      text: '- name: a\n  token: t\n  access: admin\n  groups: ops\n',
      want: ['line 4: groups must be a list of texts'],
    },
    {
      text: '- {name: a, token: t, access: admin}\n- {name: b, token: t, access: admin}\n',
      want: ['line 2: token is that of another entry too'],
    },
    {
      text: '- name: a\n  token: t\n  access:\n  - verbs: get\n    resources: []\n    verb: x\n',
      want: [
        'line 6: verb is not known; there are verbs, groups, resources, namespaces',
        'line 4: verbs must be a list of at least one text',
        'line 4: groups must be a list of at least one text',
        'line 5: resources must be a list of at least one text',
      ],
    },
  ])('reports $text: $want', ({ text, want }) => {
    expect(() => parseTokenFile(text)).toThrow(new Error(want.join('\n')));
  });

  test('reports the position of a YAML error', () => {
    expect(() => parseTokenFile('- name: a\n  token: [\n')).toThrow(/^line \d: \S/);
  });
});

test('a generated token contains all of its random bytes and fits into a header', () => {
  const token = generateToken(Uint8Array.from({ length: 32 }, (_, index) => 255 - index));
  expect(token).toMatch(/^[-_A-Za-z0-9]{43}$/);
});

test.each([
  { ca: undefined },
  { ca: `-----BEGIN CERTIFICATE-----\n${'x'.repeat(500)}\n-----END CERTIFICATE-----\n` },
])('a kubeconfig contains the address, the trusted certificate and the credentials', ({ ca }) => {
  const config = new KubeConfig();
  config.loadFromString(
    kubeconfigText({ server: 'https://127.0.0.1:6443', token: 'secret', ...(ca !== undefined && { ca }) }),
  );
  expect(config.getCurrentCluster()).toMatchObject({
    server: 'https://127.0.0.1:6443',
    caData: ca === undefined ? undefined : Buffer.from(ca).toString('base64'),
  });
  expect(config.getCurrentUser()?.token).toBe('secret');
});
