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

const notAStrategy = notSupported('spec.strategy.strategy');

export function describeValidation({ test }: Suite): void {
  const long = 'x'.repeat(254);
  const names: readonly (readonly [string, Cause])[] = [
    ['', required('metadata.name')],
    ['Bad_Name', invalid('metadata.name')],
    ['-a', invalid('metadata.name')],
    ['a/b', invalid('metadata.name')],
    [long, invalid('metadata.name')],
  ];
  for (const [name, cause] of names) {
    test(`refuses the name ${JSON.stringify(name.slice(0, 20))}`, async ({ leases }) => {
      expectAnswer(await leases.create({ metadata: { name } }), 422, invalidObject(leaseKind, name, [cause]));
    });
  }

  const withoutStrategy = forbidden('spec.preferredHolder');
  const specs: readonly (readonly [object, readonly Cause[]])[] = [
    [{ leaseDurationSeconds: 0 }, [invalid('spec.leaseDurationSeconds')]],
    [{ leaseDurationSeconds: -5 }, [invalid('spec.leaseDurationSeconds')]],
    [{ leaseTransitions: -1 }, [invalid('spec.leaseTransitions')]],
    [{ preferredHolder: 'p' }, [withoutStrategy]],
    [{ strategy: 'Other' }, [notAStrategy]],
    [{ strategy: '' }, [notAStrategy]],
    [{ strategy: 'example.com/a/b' }, [invalid('spec.strategy.strategy')]],
    [{ strategy: 'example.com/' }, [invalid('spec.strategy.strategy'), invalid('spec.strategy.strategy')]],
    [{ strategy: '/a' }, [invalid('spec.strategy.strategy')]],
    [{ strategy: 'Example.com/a' }, [invalid('spec.strategy.strategy')]],
    [
      { leaseDurationSeconds: 0, leaseTransitions: -1, preferredHolder: 'p' },
      [invalid('spec.leaseDurationSeconds'), invalid('spec.leaseTransitions'), withoutStrategy],
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
    test(`accepts the spec ${JSON.stringify(spec)}`, async ({ namespace, leases }) => {
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
    ['a label with a key that is no name', { labels: { 'a b': 'c' } }, [invalid('metadata.labels')]],
    ['a label with a value that is none', { labels: { a: 'b c' } }, [invalid('metadata.labels')]],
    [
      'an annotation with a key that is no name',
      { annotations: { 'a b': 'c' } },
      [invalid('metadata.annotations')],
    ],
    ['a finalizer that is no name', { finalizers: ['a b/c'] }, [invalid('metadata.finalizers')]],
    [
      'finalizers that contradict each other',
      { finalizers: ['orphan', 'foregroundDeletion'] },
      [invalid('metadata.finalizers')],
    ],
    [
      'an owner that nothing is known of',
      { ownerReferences: [{}] },
      [
        invalid('metadata.ownerReferences.apiVersion'),
        invalid('metadata.ownerReferences.kind'),
        invalid('metadata.ownerReferences.name'),
        invalid('metadata.ownerReferences.uid'),
      ],
    ],
    [
      'an Event as an owner',
      { ownerReferences: [{ ...owner, kind: 'Event' }] },
      [invalid('metadata.ownerReferences')],
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

  test('accepts finalizers without a slash, and duplicate ones', async ({ namespace, leases }) => {
    const finalizers = ['a', 'b/c', 'b/c'];
    const fields = { 'f:metadata': { 'f:finalizers': { '.': {}, 'v:"a"': {}, 'v:"b/c"': {} } } };
    expectAnswer(
      await leases.create({ metadata: { name: 'a', finalizers } }),
      201,
      lease(namespace, 'a', { metadata: { finalizers, managedFields: [updated('conformance', fields)] } }),
    );
  });

  test('keeps owners, and records their managers', async ({ namespace, leases }) => {
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
