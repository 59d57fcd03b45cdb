import {
  type Cause,
  expectAnswer,
  forbidden,
  invalid,
  invalidObject,
  lease,
  leaseKind,
  notSupported,
  required,
  updated,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import {
  emptyOwnerField,
  labelValueCharacters,
  nameCharacters,
  notAQualifiedName,
  shownList,
  subdomainCharacters,
} from '../wording.ts';

const notAStrategy = (strategy: string) =>
  notSupported('spec.strategy.strategy', JSON.stringify(strategy), '"OldestEmulationVersion"');

export function describeValidation({ test, minor }: Suite): void {
  const long = 'x'.repeat(254);
  const names: readonly (readonly [string, Cause])[] = [
    ['', required('metadata.name', 'name or generateName is required')],
    ['Bad_Name', invalid('metadata.name', '"Bad_Name"', subdomainCharacters)],
    ['-a', invalid('metadata.name', '"-a"', subdomainCharacters)],
    ['a/b', invalid('metadata.name', '"a/b"', subdomainCharacters)],
    [long, invalid('metadata.name', JSON.stringify(long), 'must be no more than 253 characters')],
  ];
  for (const [name, cause] of names) {
    test(`refuses the name ${JSON.stringify(name.slice(0, 20))}`, async ({ leases }) => {
      expectAnswer(await leases.create({ metadata: { name } }), 422, invalidObject(leaseKind, name, [cause]));
    });
  }

  const withoutStrategy = forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined');
  const specs: readonly (readonly [object, readonly Cause[]])[] = [
    [{ leaseDurationSeconds: 0 }, [invalid('spec.leaseDurationSeconds', '0', 'must be greater than 0')]],
    [{ leaseDurationSeconds: -5 }, [invalid('spec.leaseDurationSeconds', '-5', 'must be greater than 0')]],
    [
      { leaseTransitions: -1 },
      [invalid('spec.leaseTransitions', '-1', 'must be greater than or equal to 0')],
    ],
    [{ preferredHolder: 'p' }, [withoutStrategy]],
    [{ strategy: 'Other' }, [notAStrategy('Other')]],
    [{ strategy: '' }, [notAStrategy('')]],
    [
      { strategy: 'example.com/a/b' },
      [invalid('spec.strategy.strategy', '"example.com/a/b"', notAQualifiedName(minor))],
    ],
    [
      { strategy: 'example.com/' },
      [
        invalid('spec.strategy.strategy', '"example.com/"', 'name part must be non-empty'),
        invalid('spec.strategy.strategy', '"example.com/"', `name part ${nameCharacters}`),
      ],
    ],
    [{ strategy: '/a' }, [invalid('spec.strategy.strategy', '"/a"', 'prefix part must be non-empty')]],
    [
      { strategy: 'Example.com/a' },
      [invalid('spec.strategy.strategy', '"Example.com/a"', `prefix part ${subdomainCharacters}`)],
    ],
    [
      { leaseDurationSeconds: 0, leaseTransitions: -1, preferredHolder: 'p' },
      [
        invalid('spec.leaseDurationSeconds', '0', 'must be greater than 0'),
        invalid('spec.leaseTransitions', '-1', 'must be greater than or equal to 0'),
        withoutStrategy,
      ],
    ],
  ];
  for (const [spec, causes] of specs) {
    test(`refuses the spec ${JSON.stringify(spec)}`, async ({ leases }) => {
      expectAnswer(
        await leases.create({ metadata: { name: 'a' }, spec }),
        422,
        invalidObject(leaseKind, 'a', causes),
      );
    });
  }

  for (const spec of [
    { strategy: 'example.com/Any' },
    { strategy: 'OldestEmulationVersion', preferredHolder: '' },
    { holderIdentity: '' },
    { leaseDurationSeconds: 1, leaseTransitions: 0 },
    { holderIdentity: 'any text: with "quotes", <brackets> & ünïcödé' },
  ]) {
    test(`takes the spec ${JSON.stringify(spec)}`, async ({ namespace, leases }) => {
      const fields = Object.fromEntries(Object.keys(spec).map((field) => [`f:${field}`, {}]));
      expectAnswer(
        await leases.create({ metadata: { name: 'a' }, spec }),
        201,
        lease(namespace, 'a', {
          metadata: { managedFields: [updated('conformance', { 'f:spec': fields })] },
          spec,
        }),
      );
    });
  }

  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: '1' };
  const metadatas: readonly (readonly [string, object, readonly Cause[]])[] = [
    [
      'a label with a key that is no name',
      { labels: { 'a b': 'c' } },
      [invalid('metadata.labels', '"a b"', `name part ${nameCharacters}`)],
    ],
    [
      'a label with a value that is none',
      { labels: { a: 'b c' } },
      [invalid('metadata.labels', '"b c"', labelValueCharacters)],
    ],
    [
      'an annotation with a key that is no name',
      { annotations: { 'a b': 'c' } },
      [invalid('metadata.annotations', '"a b"', `name part ${nameCharacters}`)],
    ],
    [
      'a finalizer that is no name',
      { finalizers: ['a b/c'] },
      [invalid('metadata.finalizers', '"a b/c"', `prefix part ${subdomainCharacters}`)],
    ],
    [
      'finalizers that contradict each other',
      { finalizers: ['orphan', 'foregroundDeletion'] },
      [
        invalid(
          'metadata.finalizers',
          shownList(minor, ['orphan', 'foregroundDeletion']),
          'finalizer orphan and foregroundDeletion cannot be both set',
        ),
      ],
    ],
    [
      'an owner that nothing is known of',
      { ownerReferences: [{}] },
      [
        invalid('metadata.ownerReferences.apiVersion', '""', 'version must not be empty'),
        invalid('metadata.ownerReferences.kind', '""', emptyOwnerField(minor, 'kind')),
        invalid('metadata.ownerReferences.name', '""', emptyOwnerField(minor, 'name')),
        invalid('metadata.ownerReferences.uid', '""', emptyOwnerField(minor, 'uid')),
      ],
    ],
    [
      'an Event as an owner',
      { ownerReferences: [{ ...owner, kind: 'Event' }] },
      [
        invalid(
          'metadata.ownerReferences',
          minor >= 36
            ? '{"apiVersion":"v1","kind":"Event","name":"x","uid":"1"}'
            : 'v1.OwnerReference{APIVersion:"v1", Kind:"Event", Name:"x", UID:"1", Controller:(*bool)(nil), BlockOwnerDeletion:(*bool)(nil)}',
          '/v1, Kind=Event is disallowed from being an owner',
        ),
      ],
    ],
  ];
  for (const [name, metadata, causes] of metadatas) {
    test(`refuses ${name}`, async ({ leases }) => {
      expectAnswer(
        await leases.create({ metadata: { name: 'a', ...metadata } }),
        422,
        invalidObject(leaseKind, 'a', causes),
      );
    });
  }

  test('takes finalizers without a slash, and the same one twice', async ({ namespace, leases }) => {
    const finalizers = ['a', 'b/c', 'b/c'];
    const fields = { 'f:metadata': { 'f:finalizers': { '.': {}, 'v:"a"': {}, 'v:"b/c"': {} } } };
    expectAnswer(
      await leases.create({ metadata: { name: 'a', finalizers } }),
      201,
      lease(namespace, 'a', { metadata: { finalizers, managedFields: [updated('conformance', fields)] } }),
    );
  });

  test('keeps owners, and says who set which', async ({ namespace, leases }) => {
    const ownerReferences = [owner, { ...owner, uid: '2', controller: true, blockOwnerDeletion: false }];
    const fields = {
      'f:metadata': { 'f:ownerReferences': { '.': {}, 'k:{"uid":"1"}': {}, 'k:{"uid":"2"}': {} } },
    };
    expectAnswer(
      await leases.create({ metadata: { name: 'a', ownerReferences } }),
      201,
      lease(namespace, 'a', {
        metadata: { ownerReferences, managedFields: [updated('conformance', fields)] },
      }),
    );
  });
}
