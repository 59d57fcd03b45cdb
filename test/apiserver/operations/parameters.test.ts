import { describe, expect, test } from 'vitest';
import type { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import {
  createOptions,
  listOptions,
  patchOptions,
  updateOptions,
} from '../../../src/apiserver/operations/parameters.ts';
import { atOnce } from '../../../src/support/event-loop.ts';

function refusal(read: () => unknown): ApiError['status'] | undefined {
  try {
    read();
  } catch (error) {
    return (error as ApiError).status;
  }
  return undefined;
}

describe('the parameters of a write', () => {
  test.each([
    { query: '', want: { isDryRun: false, fieldManager: '', fieldValidation: 'Warn' } },
    {
      query: 'dryRun=All&fieldManager=me',
      want: { isDryRun: true, fieldManager: 'me', fieldValidation: 'Warn' },
    },
    {
      query: 'fieldValidation=Strict',
      want: { isDryRun: false, fieldManager: '', fieldValidation: 'Strict' },
    },
    { query: 'fieldValidation=', want: { isDryRun: false, fieldManager: '', fieldValidation: 'Warn' } },
  ])('are read: $query', ({ query, want }) => {
    expect(createOptions(new URLSearchParams(query))).toEqual(want);
  });

  test.each([
    {
      query: 'dryRun=Some',
      want: 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
    },
    {
      query: 'fieldValidation=strict',
      want: 'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"',
    },
    {
      query: `fieldManager=${'x'.repeat(129)}`,
      want: 'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
    },
    {
      query: 'fieldManager=a%09',
      want: 'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\\t": invalid character U+0009 (at position 1)',
    },
  ])('are refused with what is wrong: $query', ({ query, want }) => {
    expect(refusal(() => createOptions(new URLSearchParams(query)))).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: want,
    });
  });

  test('name the kind of options that they belong to', () => {
    const query = new URLSearchParams('dryRun=x');
    expect(refusal(() => updateOptions(query))?.message).toMatch(/^UpdateOptions/);
    expect(refusal(() => patchOptions(query, false))?.message).toMatch(/^PatchOptions/);
  });

  test('need a field manager for an apply, and take force only for that', () => {
    expect(refusal(() => patchOptions(new URLSearchParams(), true))?.message).toContain(
      'fieldManager: Required value: is required for apply patch',
    );
    expect(refusal(() => patchOptions(new URLSearchParams('force=true'), false))?.message).toContain(
      'force: Forbidden: may not be specified for non-apply patch',
    );
    expect(patchOptions(new URLSearchParams('fieldManager=me&force=true'), true).isForced).toBe(true);
    expect(patchOptions(new URLSearchParams('fieldManager=me&force=0'), true).isForced).toBe(false);
  });
});

describe('the parameters of a list or a watch', () => {
  test.each([
    { query: 'limit=x', want: { code: 400, message: 'strconv.ParseInt: parsing "x": invalid syntax' } },
    {
      query: 'timeoutSeconds=9223372036854775808',
      want: { code: 400, message: 'strconv.ParseInt: parsing "9223372036854775808": value out of range' },
    },
    {
      query: 'resourceVersionMatch=Exact',
      want: {
        code: 422,
        message:
          'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
      },
    },
    {
      query: 'resourceVersion=0&resourceVersionMatch=Exact',
      want: {
        code: 422,
        message:
          'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
      },
    },
    {
      query: 'sendInitialEvents=true',
      want: {
        code: 422,
        message:
          'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
      },
    },
    {
      query: 'watch=1&sendInitialEvents=true',
      want: {
        code: 422,
        message:
          'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      },
    },
  ])('are refused with what is wrong: $query', ({ query, want }) => {
    expect(refusal(() => atOnce(listOptions(new URLSearchParams(query))))).toMatchObject(want);
  });

  test.each([
    { query: 'watch=1', want: true },
    { query: 'watch=1&resourceVersion=0', want: true },
    { query: 'watch=1&resourceVersion=7', want: undefined },
    { query: 'watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan', want: false },
    { query: '', want: undefined },
  ])('begin a watch from no version in particular with the present state: $query', ({ query, want }) => {
    expect(atOnce(listOptions(new URLSearchParams(query))).sendInitialEvents).toBe(want);
  });
});
