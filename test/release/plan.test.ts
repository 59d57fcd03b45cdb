import { describe, expect, test } from 'vitest';
import { type Checkout, planRelease, ReleaseRefusal } from '../../release/plan.ts';
import { makeCheckout } from './make-checkout.ts';

const DATE = '2026-03-04';

describe('a release', () => {
  test('changes every file that names the version, the changelog among them, and no other', () => {
    const { changed, message, tags } = planRelease(makeCheckout(), '1.3.0', DATE);
    expect(changed.map(({ path }) => path)).toEqual(['CHANGELOG.md', 'package.json', 'README.md']);
    expect(changed[2]?.text).toBe(
      'docker pull coordinated-leader-election:1.3.0\nIt needs 1.2.3 of everything.\n',
    );
    expect(changed[0]?.text).toContain('## [1.3.0] - 2026-03-04\n');
    expect({ message, tags }).toEqual({ message: 'Release 1.3.0', tags: ['v1.3.0', 'clients/go/v1.3.0'] });
  });

  test('may be one before a release, which is greater than the one before that', () => {
    expect(planRelease(makeCheckout(), '1.3.0-rc.1', DATE).tags[0]).toBe('v1.3.0-rc.1');
  });

  test.each<{ name: string; checkout?: Partial<Checkout>; version?: string; want: string }>([
    { name: 'of what is not committed', checkout: { isClean: false, files: [] }, want: 'not committed' },
    { name: 'of no version', version: 'next', want: 'next is no version' },
    { name: 'with a leading v', version: 'v1.3.0', want: 'v1.3.0 is no version' },
    { name: 'with metadata of a build', version: '1.3.0+a', want: '1.3.0+a is no version' },
    { name: 'of the same version', version: '1.2.3', want: '1.2.3 is not greater than 1.2.3' },
    { name: 'of a lower version', version: '1.2.3-rc.1', want: '1.2.3-rc.1 is not greater than 1.2.3' },
    { name: 'that has a tag', checkout: { tags: ['v1.3.0'] }, want: 'There is a tag v1.3.0 already' },
    {
      name: 'whose Go module has a tag',
      checkout: { tags: ['clients/go/v1.3.0'] },
      want: 'There is a tag clients/go/v1.3.0 already',
    },
    {
      name: 'of a major version that the path of the Go module does not name',
      version: '2.0.0',
      want: 'names the module "example.com/o/n/clients/go": it must end with /clients/go/v2.',
    },
    {
      name: 'of nothing new',
      checkout: { files: [{ path: 'CHANGELOG.md', text: '## [Unreleased]\n' }] },
      want: 'nothing under Unreleased',
    },
    { name: 'without a changelog', checkout: { files: [] }, want: 'nothing under Unreleased' },
  ])('$name is refused', ({ checkout, version = '1.3.0', want }) => {
    const plan = () => planRelease(makeCheckout(checkout), version, DATE);
    expect(plan).toThrow(ReleaseRefusal);
    expect(plan).toThrow(want);
  });

  test('is refused with all reasons at once', () => {
    const plan = () => planRelease(makeCheckout({ tags: ['v1.0.0'], files: [] }), '1.0.0', DATE);
    expect(plan).toThrow(/not greater.*already.*Unreleased/s);
  });
});
