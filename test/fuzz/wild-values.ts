import fc from 'fast-check';

/** Keys with a meaning in JavaScript, and text with a meaning in terminals and pages. */
const oddTexts = [
  '',
  ' ',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '\u0000',
  '\u001b[2J\u009b1m',
  'a\u202eb\u200b\u2028',
  '\ud800',
  '<img src=x onerror=alert(1)>',
  '../../etc/passwd',
  '%2e%2e%00',
  '-1',
  '1e400',
  '0'.repeat(400),
  'x'.repeat(10_000),
  'ä'.repeat(5000),
] as const;

export const wildText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...oddTexts) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 40 }) },
);

export const wildVersion: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '1.36.0',
    '1.35.0-alpha.1',
    'v1.36.0',
    '1.36',
    '0.0.0',
    '99999999999999999999.0.0',
    `1.0.0-${'a.'.repeat(5000)}a`,
    `${'1'.repeat(10_000)}.0.0`,
    `1.0.0-${'0'.repeat(10_000)}`,
    `1.0.0+${'-'.repeat(10_000)}`,
    '9007199254740991.9007199254740991.9007199254740991',
  ),
  wildText,
);

export const wildTime: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '2026-01-01T00:00:00.000000Z',
    '2026-01-01T00:00:00Z',
    '1969-12-31T23:59:59.999999Z',
    '0000-01-01T00:00:00.000000Z',
    '0000-01-01T00:00:00.000000+23:59',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999999Z',
    '9999-12-31T23:59:59.999999-23:59',
    '10000-01-01T00:00:00.000000Z',
    '2026-02-30T00:00:00.000000Z',
    '2026-12-31T23:59:60.000000Z',
    '2026-01-01T24:00:00.000000Z',
    `2026-01-01T00:00:00.${'9'.repeat(10_000)}Z`,
  ),
  fc
    .record({
      milliseconds: fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_000 }),
      micros: fc.nat(999),
    })
    .map(
      ({ milliseconds, micros }) =>
        `${new Date(milliseconds).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`,
    ),
  wildText,
);

const wildNumber: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, -0, -1, 1, 10, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e300, -1e300, 0.5),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

/** Any JSON value, including keys with a meaning. */
export const wildJson: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, true, false),
    wildNumber,
    wildText,
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(wildText, tie('value')), { maxLength: 4 })
      .map((entries): unknown => Object.fromEntries(entries)),
  ),
})).value;

/**
 * An object with these fields, mostly of the right type, sometimes of another type or absent; and with other fields.
 */
export function wildObject(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> {
  const known = Object.entries(fields).map(([name, value]) =>
    fc
      .oneof(
        { weight: 8, arbitrary: value },
        { weight: 1, arbitrary: wildJson },
        { weight: 1, arbitrary: fc.constant(undefined) },
      )
      .map((given): [string, unknown] => [name, given]),
  );
  return fc
    .tuple(fc.array(fc.tuple(wildText, wildJson), { maxLength: 1 }), ...known)
    .map(([others, ...given]) =>
      Object.fromEntries([...(others ?? []), ...given].filter(([, each]) => each !== undefined)),
    );
}

const wildMap = fc
  .array(fc.tuple(wildText, wildText), { maxLength: 4 })
  .map((entries) => Object.fromEntries(entries));

const managedFields = fc.array(
  wildObject({
    manager: wildText,
    operation: fc.constantFrom('Apply', 'Update', ''),
    apiVersion: fc.constantFrom('coordination.k8s.io/v1', 'v1', 'a/b/c', ''),
    time: wildTime,
    fieldsType: fc.constantFrom('FieldsV1', 'x'),
    fieldsV1: fc.oneof(
      wildJson,
      fc.constant({ 'f:spec': { 'f:holderIdentity': {}, 'k:{"a":1}': {}, 'v:[]': {}, 'i:1': {}, '.': {} } }),
    ),
  }),
  { maxLength: 2 },
);

/** A few names, so that requests often find existing objects. */
export const someName = fc.constantFrom('a', 'b', 'c');

const metadata = wildObject({
  name: fc.oneof({ weight: 6, arbitrary: someName }, { weight: 1, arbitrary: wildText }),
  namespace: fc.constantFrom('default', 'default', 'other', ''),
  uid: wildText,
  resourceVersion: fc.oneof(fc.constantFrom('', '1', '0', '99999999999999999999'), wildText),
  creationTimestamp: fc.oneof(fc.constant(null), wildTime),
  deletionTimestamp: fc.oneof(fc.constant(null), wildTime),
  labels: wildMap,
  annotations: wildMap,
  finalizers: fc.array(fc.oneof(fc.constantFrom('a/b', 'c/d', 'orphan'), wildText), { maxLength: 3 }),
  ownerReferences: fc.array(
    wildObject({
      apiVersion: fc.constant('v1'),
      kind: wildText,
      name: wildText,
      uid: wildText,
      controller: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  managedFields,
});

const leaseSpec = wildObject({
  holderIdentity: wildText,
  preferredHolder: wildText,
  strategy: fc.oneof(fc.constant('OldestEmulationVersion'), wildText),
  leaseDurationSeconds: wildNumber,
  leaseTransitions: wildNumber,
  acquireTime: wildTime,
  renewTime: wildTime,
});

const candidateSpec = wildObject({
  leaseName: wildText,
  binaryVersion: wildVersion,
  emulationVersion: wildVersion,
  strategy: fc.oneof(fc.constant('OldestEmulationVersion'), wildText),
  preferredStrategies: fc.array(wildText, { maxLength: 3 }),
  priority: wildNumber,
  renewTime: wildTime,
  pingTime: wildTime,
});

export const wildLease: fc.Arbitrary<unknown> = wildObject({
  apiVersion: fc.constant('coordination.k8s.io/v1'),
  kind: fc.constant('Lease'),
  metadata,
  spec: leaseSpec,
});

export const wildCandidate: fc.Arbitrary<unknown> = wildObject({
  apiVersion: fc.constantFrom(
    'coordination.k8s.io/v1beta1',
    'coordination.k8s.io/v1alpha1',
    'coordinated-leader-election.dev/v1alpha1',
  ),
  kind: fc.constant('LeaseCandidate'),
  metadata,
  spec: candidateSpec,
});
