import { expect } from 'vitest';
import { expectAnswer, invalid, invalidObject, lease, leaseKind, required, updated } from '../expected.ts';
import type { Suite } from '../suite.ts';

const suffix = '[bcdfghjklmnpqrstvwxz2456789]{5}';

export function describeGenerateName({ test }: Suite): void {
  test('appends five characters', async ({ namespace, leases }) => {
    const answer = await leases.create({ metadata: { generateName: 'gen-' } });
    const { name } = answer.json.metadata;
    expect(name).toMatch(new RegExp(`^gen-${suffix}$`));
    const managedFields = [updated('conformance', { 'f:metadata': { 'f:generateName': {} } })];
    const metadata = { generateName: 'gen-', managedFields };
    expectAnswer(answer, 201, lease(namespace, name, { metadata }));
    expectAnswer(await leases.get(name), 200, lease(namespace, name, { metadata }));
  });

  test('gives every object a different name', async ({ leases }) => {
    const made = await Promise.all(
      Array.from({ length: 10 }, () => leases.make({ metadata: { generateName: 'g' } })),
    );
    expect(new Set(made.map(({ metadata }) => metadata.name)).size).toBe(10);
  });

  test('shortens a long prefix so that the name has 63 characters', async ({ leases }) => {
    const made = await leases.make({ metadata: { generateName: 'x'.repeat(100) } });
    expect(made.metadata.name).toMatch(new RegExp(`^x{58}${suffix}$`));
  });

  test('is ignored if there is a name, but stored', async ({ namespace, leases }) => {
    const managedFields = [updated('conformance', { 'f:metadata': { 'f:generateName': {} } })];
    expectAnswer(
      await leases.create({ metadata: { name: 'a', generateName: 'gen-' } }),
      201,
      lease(namespace, 'a', { metadata: { generateName: 'gen-', managedFields } }),
    );
  });

  test('is validated like a name, and so is the result', async ({ leases }) => {
    const answer = await leases.create({ metadata: { generateName: 'Gen_' } });
    const { name } = answer.json['details'] as { readonly name: string };
    expect(name).toMatch(/^Gen_.{5}$/);
    expectAnswer(
      answer,
      422,
      invalidObject(leaseKind, name, [invalid('metadata.generateName'), invalid('metadata.name')]),
    );
  });

  test('has no effect if it is empty', async ({ leases }) => {
    expectAnswer(
      await leases.create({ metadata: { generateName: '' } }),
      422,
      invalidObject(leaseKind, '', [required('metadata.name')]),
    );
  });
}
