import { describe, expect, test } from 'vitest';
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../../src/apiserver/errors/field-error.ts';

describe('a field error has the text of the API server', () => {
  test.each<[string, FieldError, FieldError['reason'], string]>([
    ['of a value that is missing', required('a'), 'FieldValueRequired', 'Required value'],
    ['and why', required('a', 'why'), 'FieldValueRequired', 'Required value: why'],
    ['of text', invalid('a', 'x\u0001<', 'why'), 'FieldValueInvalid', 'Invalid value: "x\\u0001<": why'],
    ['of a number', invalid('a', -1, 'why'), 'FieldValueInvalid', 'Invalid value: -1: why'],
    ['of a struct', invalid('a', { b: 1 }, 'why'), 'FieldValueInvalid', 'Invalid value: {"b":1}: why'],
    ['of what may not be', forbidden('a', 'why'), 'FieldValueForbidden', 'Forbidden: why'],
    [
      'of what is none of a few',
      notSupported('a', 'x', ['y', 'z']),
      'FieldValueNotSupported',
      'Unsupported value: "x": supported values: "y", "z"',
    ],
    ['of what is too long', tooLong('a', 5), 'FieldValueTooLong', 'Too long: may not be more than 5 bytes'],
  ])('%s', (_, error, reason, message) => {
    expect(error).toEqual({ reason, field: 'a', message });
  });
});
