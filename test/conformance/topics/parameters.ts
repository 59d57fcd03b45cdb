import {
  type Cause,
  expectAnswer,
  forbidden,
  invalid,
  invalidOptions,
  notSupported,
  required,
  tooLong,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import type { Answer } from '../target.ts';
import type { Asked, Workspace } from '../workspace.ts';

/** A write with these parameters. The object exists already unless the write creates it. */
type Write = (workspace: Workspace, query: NonNullable<Asked['query']>) => Promise<Answer>;

const writes: readonly (readonly [options: string, verb: string, write: Write])[] = [
  ['CreateOptions', 'create', ({ leases }, query) => leases.create({ metadata: { name: 'new' } }, { query })],
  [
    'UpdateOptions',
    'replace',
    ({ leases }, query) => leases.replace('a', { metadata: { name: 'a' } }, { query }),
  ],
  ['PatchOptions', 'JSON patch', ({ leases }, query) => leases.jsonPatch('a', [], { query })],
  ['PatchOptions', 'merge patch', ({ leases }, query) => leases.mergePatch('a', {}, { query })],
  ['PatchOptions', 'strategic merge patch', ({ leases }, query) => leases.strategicPatch('a', {}, { query })],
];

export function describeParameters({ test }: Suite): void {
  const dryRun = notSupported('dryRun');
  const fieldValidation = notSupported('fieldValidation');
  const longManager = tooLong('fieldManager');
  const wrong: readonly (readonly [NonNullable<Asked['query']>, readonly Cause[]])[] = [
    [{ dryRun: 'Some' }, [dryRun]],
    [{ dryRun: '' }, [dryRun]],
    [{ fieldValidation: 'strict' }, [fieldValidation]],
    [{ fieldManager: 'x'.repeat(129) }, [longManager]],
    [{ fieldManager: '\u0007a' }, [invalid('fieldManager')]],
    [{ fieldManager: 'a\u0000' }, [invalid('fieldManager')]],
    [
      { dryRun: 'Some', fieldValidation: 'x', fieldManager: 'y'.repeat(200) },
      [longManager, dryRun, fieldValidation],
    ],
  ];
  for (const [options, verb, write] of writes) {
    test(`refuses a ${verb} with invalid parameters`, async (workspace) => {
      await workspace.leases.make({ metadata: { name: 'a' } });
      for (const [query, causes] of wrong) {
        expectAnswer(await write(workspace, query), 422, invalidOptions(options, causes));
      }
    });
  }

  test('refuses an apply with invalid parameters, or without a field manager', async ({ leases }) => {
    const noManager = required('fieldManager');
    for (const [query, causes] of [
      [{}, [noManager]],
      [{ force: 'true' }, [noManager]],
      [{ fieldManager: 'm', dryRun: 'x' }, [dryRun]],
      [{ fieldManager: 'x'.repeat(129) }, [longManager]],
      [{ fieldManager: 'm', fieldValidation: 'x' }, [fieldValidation]],
    ] as const) {
      expectAnswer(
        await leases.apply('a', '', { metadata: { name: 'a' } }, { query }),
        422,
        invalidOptions('PatchOptions', causes),
      );
    }
  });

  test('allows only an apply to be forced', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    for (const force of ['true', 'false']) {
      for (const patch of [leases.mergePatch, leases.strategicPatch]) {
        expectAnswer(
          await patch('a', {}, { query: { force } }),
          422,
          invalidOptions('PatchOptions', [forbidden('force')]),
        );
      }
    }
  });

  test('refuses a deletion with invalid parameters', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const policy = notSupported('propagationPolicy');
    for (const remove of [
      (options: unknown, query: Asked['query'] = {}) => leases.delete('a', options, { query }),
      (options: unknown, query: Asked['query'] = {}) => leases.deleteAll(options, { query }),
    ]) {
      for (const [answer, cause] of [
        [await remove({ dryRun: ['Some'] }), dryRun],
        [await remove(undefined, { dryRun: 'Some' }), dryRun],
        [await remove({ propagationPolicy: 'Some' }), policy],
        [await remove(undefined, { propagationPolicy: 'Some' }), policy],
        [
          await remove({ propagationPolicy: 'Background', orphanDependents: true }),
          invalid('propagationPolicy'),
        ],
      ] as const) {
        expectAnswer(answer, 422, invalidOptions('DeleteOptions', [cause]));
      }
    }
  });
}
