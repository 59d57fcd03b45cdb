/** The outcome of the creation or change of a LeaseCandidate. */
export type Outcome = 'taken' | 'refused';

/** A LeaseCandidate, and its outcome in both groups. */
export interface CandidateCase {
  readonly name: string;
  /** Default `a`. */
  readonly candidateName?: string;
  /** In addition to `leaseName: web`, versions 1.36.0 and OldestEmulationVersion. Undefined removes a field. */
  readonly spec?: Readonly<Record<string, unknown>>;
  /** A merge patch of the spec after the creation. The outcome is that of the patch. */
  readonly change?: Readonly<Record<string, unknown>>;
  /** In coordination.k8s.io. */
  readonly wantNative: Outcome;
  /** In coordination.k8s.io/v1alpha1, if it differs from later versions. */
  readonly wantV1alpha1?: Outcome;
  /** In coordinated-leader-election.dev. */
  readonly wantOurs: Outcome;
  /** A part of the message of a refusal by our group. */
  readonly wantMessage?: string;
  /** Why the groups differ; undefined if they must agree. */
  readonly difference?: string;
}

const oursHasDefaults = 'what is left out has a default';
const dnsNames = 'names of custom resources are DNS subdomains';
const leaseNames = 'no Lease could have the name';
const exactNumbers = 'numbers that JavaScript does not hold exactly are refused';
const bounded = 'the cost of a rule needs bounded texts';
const strictTimes = 'RFC 3339 is meant, and no more of what Go reads';
const onlyOurs = 'coordination.k8s.io has no priority';
const leaveItOut = 'what is empty is left out';

const custom = 'example.com/nearest';
const label = 'x'.repeat(63);
const longDomain = `${label}.${label}.${label}.${'x'.repeat(61)}`;

const asVersion = 'set it to a semantic version such as 1.36.3';
const asTime = 'set it to a time in RFC 3339 with exactly six decimals';
const asStrategy = 'set it to OldestEmulationVersion, or to a strategy with a domain in its name';
const asLease = 'set it to the name of a Lease';
const tooHigh = 'it must not be higher than binaryVersion: lower it, raise binaryVersion, or leave it out';

/** Both accept it, or both refuse it. */
function both(want: Outcome, rest: Omit<CandidateCase, 'wantNative' | 'wantOurs'>): CandidateCase {
  return { ...rest, wantNative: want, wantOurs: want };
}

const names: readonly CandidateCase[] = [
  both('taken', { name: 'a name of a pod', candidateName: 'web-6bd47cb569-x926x' }),
  both('taken', { name: 'a name with dots', candidateName: 'web.0' }),
  both('taken', { name: 'a name of 253 characters', candidateName: longDomain }),
  both('refused', { name: 'a name of 254 characters', candidateName: `${longDomain}x` }),
  both('refused', { name: 'a name with a space', candidateName: 'a b' }),
  both('refused', { name: 'a name of two dots', candidateName: '..' }),
  ...['control-plane-1_3d5e9c23', 'Web', '-web', 'web-', '.web'].map(
    (candidateName): CandidateCase => ({
      name: `the name ${candidateName}`,
      candidateName,
      wantNative: 'taken',
      wantOurs: 'refused',
      difference: dnsNames,
    }),
  ),
];

const leases: readonly CandidateCase[] = [
  both('refused', {
    name: 'no leaseName',
    spec: { leaseName: undefined },
    wantMessage: 'spec.leaseName: Required',
  }),
  both('refused', { name: 'an empty leaseName', spec: { leaseName: '' }, wantMessage: asLease }),
  both('refused', { name: 'a leaseName that is a number', spec: { leaseName: 1 } }),
  both('taken', { name: 'a leaseName of a digit', spec: { leaseName: '1' } }),
  both('taken', { name: 'a leaseName with dots', spec: { leaseName: 'web.example.com' } }),
  both('taken', { name: 'a leaseName of 253 characters', spec: { leaseName: longDomain } }),
  ...['Web', 'web_0', 'web.', '-web', 'web..0', 'a/b', 'web\n'].map(
    (leaseName): CandidateCase => ({
      name: `the leaseName ${JSON.stringify(leaseName)}`,
      spec: { leaseName },
      wantNative: 'taken',
      wantOurs: 'refused',
      wantMessage: asLease,
      difference: leaseNames,
    }),
  ),
  {
    name: 'a leaseName of 254 characters',
    spec: { leaseName: `${longDomain}x` },
    wantNative: 'taken',
    wantOurs: 'refused',
    wantMessage: 'Too long: may not be',
    difference: leaseNames,
  },
  both('refused', {
    name: 'another leaseName than before',
    change: { leaseName: 'other' },
    wantMessage: 'it cannot be changed: delete this candidate, and create one for the other Lease',
  }),
  both('refused', { name: 'no leaseName any more', change: { leaseName: null }, wantMessage: 'Required' }),
  both('taken', { name: 'the same leaseName', change: { leaseName: 'web' } }),
];

/** The examples of semver.org, and some similar texts. */
const wellFormed = [
  '0.0.4',
  '1.2.3',
  '10.20.30',
  '1.0.0-alpha',
  '1.0.0-alpha.1',
  '1.0.0-alpha0.valid',
  '1.0.0-0A.is.legal',
  '1.0.0-0.3.7',
  '1.0.0-x.7.z.92',
  '1.0.0-alpha-a.b-c-something-long+build.1-aef.1',
  '2.0.0+build.1848',
  '2.0.1-alpha.1227',
  '1.2.3+01.002',
  '1.2.3----RC-SNAPSHOT.12.9.1--.12+788',
  '1.2.3----R-S.12.9.1--.12',
  '1.0.0+0.build.1-rc.10000aaa-kk-0.1',
  '1.2.3--1',
  '999999999999999.999999999999999.999999999999999',
  '1.0.0-999999999999999',
  `1.0.0+${'x'.repeat(122)}`,
] as const;

const malformed = [
  '1',
  '1.2',
  '1.2.3.4',
  'v1.2.3',
  'V1.2.3',
  '01.2.3',
  '1.02.3',
  '1.2.03',
  '1.2.3-01',
  '1.2.3-0123.0123',
  '1.2.3-',
  '1.2.3+',
  '1.2.3-+',
  '1.2.3-a..b',
  '1.2.3-.a',
  '1.2.3-a.',
  '1.2.3+a..b',
  '1.2.3-a_b',
  '1.2.3+a+b',
  ' 1.2.3',
  '1.2.3 ',
  '1.2.3\n',
  '1.2.x',
  '-1.2.3',
  '+1.2.3',
  '1.-2.3',
  '1..3',
  '.2.3',
  'x',
  '1.2.3-é',
  '1.2.3-\u0660',
  '\u0661.2.3',
  '99999999999999999999999.0.0',
] as const;

const versions: readonly CandidateCase[] = [
  ...wellFormed.map((binaryVersion) =>
    both('taken', {
      name: `the binaryVersion ${binaryVersion.slice(0, 60)}`,
      spec: { binaryVersion, emulationVersion: '0.0.1' },
    }),
  ),
  ...malformed.flatMap((version) => [
    both('refused', {
      name: `the binaryVersion ${JSON.stringify(version)}`,
      spec: { binaryVersion: version, emulationVersion: '0.0.1' },
      wantMessage: asVersion,
    }),
    both('refused', {
      name: `the emulationVersion ${JSON.stringify(version)}`,
      spec: { emulationVersion: version },
      wantMessage: asVersion,
    }),
  ]),
  ...['1000000000000000.0.0', '1.0.0-1000000000000000', '18446744073709551615.0.0'].map(
    (binaryVersion): CandidateCase => ({
      name: `the binaryVersion ${binaryVersion}`,
      spec: { binaryVersion, emulationVersion: '0.0.1' },
      wantNative: 'taken',
      wantOurs: 'refused',
      wantMessage: 'no number of more than 15 digits',
      difference: exactNumbers,
    }),
  ),
  {
    name: 'a binaryVersion of 129 characters',
    spec: { binaryVersion: `1.0.0+${'x'.repeat(123)}`, emulationVersion: '1.0.0' },
    wantNative: 'taken',
    wantOurs: 'refused',
    wantMessage: 'Too long: may not be',
    difference: bounded,
  },
  {
    name: 'no binaryVersion',
    spec: { binaryVersion: undefined, emulationVersion: undefined },
    wantNative: 'refused',
    wantOurs: 'taken',
    difference: oursHasDefaults,
  },
  {
    name: 'no binaryVersion under another strategy',
    spec: { binaryVersion: undefined, emulationVersion: undefined, strategy: custom },
    wantNative: 'refused',
    wantV1alpha1: 'taken',
    wantOurs: 'taken',
    difference: oursHasDefaults,
  },
  both('refused', { name: 'an empty binaryVersion', spec: { binaryVersion: '' }, wantMessage: asVersion }),
  both('refused', { name: 'a binaryVersion that is a number', spec: { binaryVersion: 1.36 } }),
  {
    name: 'no emulationVersion',
    spec: { emulationVersion: undefined },
    wantNative: 'refused',
    wantOurs: 'taken',
    difference: oursHasDefaults,
  },
  both('taken', {
    name: 'no emulationVersion under another strategy',
    spec: { emulationVersion: undefined, strategy: custom },
  }),
  both('refused', {
    name: 'an empty emulationVersion',
    spec: { emulationVersion: '' },
    wantMessage: asVersion,
  }),
  {
    name: 'an empty emulationVersion under another strategy',
    spec: { emulationVersion: '', strategy: custom },
    wantNative: 'taken',
    wantOurs: 'refused',
    wantMessage: asVersion,
    difference: leaveItOut,
  },
  both('refused', {
    name: 'an emulationVersion of 0.0.0',
    spec: { emulationVersion: '0.0.0' },
    wantMessage: 'set it to the version that the program emulates, or leave it out',
  }),
  both('refused', {
    name: 'an emulationVersion of 0.0.0 and a build',
    spec: { emulationVersion: '0.0.0+build' },
    wantMessage: 'set it to the version that the program emulates, or leave it out',
  }),
  both('taken', { name: 'an emulationVersion before 0.0.0', spec: { emulationVersion: '0.0.0-alpha' } }),
  both('taken', {
    name: 'an emulationVersion of 0.0.0 under another strategy',
    spec: { emulationVersion: '0.0.0', strategy: custom },
  }),
  {
    name: 'an emulationVersion of 0.0.0 that is the binaryVersion',
    spec: { binaryVersion: '0.0.0', emulationVersion: '0.0.0' },
    wantNative: 'refused',
    wantOurs: 'taken',
    difference: oursHasDefaults,
  },
];

/** In ascending order by the precedence of semver. */
const ascending = [
  '1.0.0--',
  '1.0.0-alpha',
  '1.0.0-alpha.1',
  '1.0.0-alpha.1.0',
  '1.0.0-alpha.9',
  '1.0.0-alpha.10',
  '1.0.0-alpha.10a',
  '1.0.0-alpha.beta',
  '1.0.0-alpha-1',
  '1.0.0-beta',
  '1.0.0',
  '1.0.1-0',
  '1.0.1-9',
  '1.0.1-10',
  '1.0.1--',
  '1.0.1-0a',
  '1.0.1-A',
  '1.0.1-a',
  '1.0.1-a.b-c',
  '1.0.1',
  '1.0.9',
  '1.0.10',
  '1.9.0',
  '1.10.0-rc.1',
  '1.10.0',
  '9.0.0',
  '10.0.0',
] as const;

const order: readonly CandidateCase[] = ascending.flatMap((high, index) => {
  const low = ascending[index - 1] ?? '0.9.9';
  const compared = (binaryVersion: string, emulationVersion: string, want: Outcome) =>
    both(want, {
      name: `a program ${binaryVersion} that emulates ${emulationVersion}`,
      spec: { binaryVersion, emulationVersion },
      ...(want === 'refused' && { wantMessage: tooHigh }),
    });
  return [
    compared(high, low, 'taken'),
    compared(high, high, 'taken'),
    compared(low, high, 'refused'),
    compared(`${high}+1`, `${high}+2`, 'taken'),
    compared(`${high}+2`, `${high}+1`, 'taken'),
    compared(`${high}+a-b.c`, `${low}+b-c.d`, 'taken'),
    compared(`${low}+b-c.d`, `${high}+a-b.c`, 'refused'),
  ];
});

const strategies: readonly CandidateCase[] = [
  {
    name: 'no strategy',
    spec: { strategy: undefined },
    wantNative: 'refused',
    wantV1alpha1: 'taken',
    wantOurs: 'taken',
    difference: oursHasDefaults,
  },
  both('refused', { name: 'a strategy that is a number', spec: { strategy: 1 } }),
  ...[
    custom,
    'coordinated-leader-election.dev/NewestVersion',
    'localhost/x',
    'a.b/N_e.w-est',
    `${longDomain}/x`,
    `example.com/${label}`,
  ].map((strategy) => both('taken', { name: `the strategy ${strategy.slice(0, 40)}`, spec: { strategy } })),
  ...[
    '',
    'NewestVersion',
    'oldestEmulationVersion',
    'OldestEmulationVersion ',
    '/',
    '/x',
    'example.com/',
    'example.com/a/b',
    'Example.com/x',
    'example_com/x',
    '.com/x',
    'example..com/x',
    'example.com/-x',
    'example.com/x-',
    'example.com/x y',
    'k8s/OldestEmulationVersion/',
    `example.com/${label}x`,
  ].map((strategy) =>
    both('refused', {
      name: `the strategy '${strategy.slice(0, 40)}'`,
      spec: { strategy },
      wantMessage: asStrategy,
    }),
  ),
  both('refused', {
    name: 'a strategy of a domain of 254 characters',
    spec: { strategy: `${longDomain}x/x` },
    wantMessage: asStrategy,
  }),
  both('refused', {
    name: 'a strategy that is too long altogether',
    spec: { strategy: `${longDomain}/${label}x` },
    wantMessage: 'Too long: may not be',
  }),
];

const goodTimes = [
  '2026-11-22T10:00:00.000000Z',
  '2026-11-22T10:00:00.123456+01:00',
  '2026-11-22T10:00:00.123456-23:59',
  '2026-11-22T10:00:00.123456-00:00',
  '2024-02-29T23:59:59.999999Z',
  '2000-02-29T00:00:00.000000Z',
  '2026-01-31T00:00:00.000000Z',
  '2026-04-30T00:00:00.000000Z',
  '0001-01-01T00:00:00.000001Z',
  '9999-12-31T23:59:59.999999Z',
] as const;

const badTimes = [
  '',
  'now',
  '2026-11-22',
  '2026-11-22T10:00:00Z',
  '2026-11-22T10:00:00.123Z',
  '2026-11-22T10:00:00.12345Z',
  '2026-11-22T10:00:00.1234567Z',
  '2026-11-22T10:00:00.123456',
  '2026-11-22 10:00:00.123456Z',
  '2026-11-22t10:00:00.123456Z',
  '2026-11-22T10:00:00.123456z',
  '2026-11-22T10:00:00.123456+0100',
  '2026-11-22T10:00:00.123456+01',
  '2026-11-22T24:00:00.000000Z',
  '2026-11-22T23:60:00.000000Z',
  '2026-11-22T23:59:60.000000Z',
  '2026-00-22T10:00:00.000000Z',
  '2026-13-22T10:00:00.000000Z',
  '2026-11-00T10:00:00.000000Z',
  '2026-11-31T10:00:00.000000Z',
  '2026-01-32T10:00:00.000000Z',
  '2026-02-29T10:00:00.000000Z',
  '2024-02-30T10:00:00.000000Z',
  '2100-02-29T10:00:00.000000Z',
  '26-11-22T10:00:00.000000Z',
  '12026-11-22T10:00:00.000000Z',
  '2026-11-22T10:00:00.000000Z\n',
  ' 2026-11-22T10:00:00.000000Z',
] as const;

const times: readonly CandidateCase[] = ['renewTime', 'pingTime'].flatMap((field) => [
  ...goodTimes.map((time) => both('taken', { name: `the ${field} ${time}`, spec: { [field]: time } })),
  ...badTimes.map((time) =>
    both('refused', {
      name: `the ${field} ${JSON.stringify(time)}`,
      spec: { [field]: time },
      wantMessage: asTime,
    }),
  ),
  ...['2026-11-22T1:00:00.000000Z', '2026-11-22T10:00:00,000000Z', '2026-11-22T10:00:00.000000+24:00'].map(
    (time): CandidateCase => ({
      name: `the ${field} ${time}`,
      spec: { [field]: time },
      wantNative: 'taken',
      wantOurs: 'refused',
      wantMessage: asTime,
      difference: strictTimes,
    }),
  ),
  both('taken', { name: `no ${field} any more`, spec: { [field]: goodTimes[0] }, change: { [field]: null } }),
  both('taken', { name: `a ${field} of null`, spec: { [field]: null } }),
  both('refused', { name: `a ${field} that is a number`, spec: { [field]: 1 } }),
]);

const priorities: readonly CandidateCase[] = [
  ...[0, 1, -1, 2 ** 31 - 1, -(2 ** 31)].map((priority) =>
    both('taken', { name: `the priority ${priority}`, spec: { priority } }),
  ),
  ...[2 ** 31, -(2 ** 31) - 1].map(
    (priority): CandidateCase => ({
      name: `the priority ${priority}`,
      spec: { priority },
      wantNative: 'taken',
      wantOurs: 'refused',
      wantMessage: 'set it to a whole number from -2147483648 to 2147483647',
      difference: onlyOurs,
    }),
  ),
  ...[0.5, '1', true].map(
    (priority): CandidateCase => ({
      name: `the priority ${JSON.stringify(priority)}`,
      spec: { priority },
      wantNative: 'taken',
      wantOurs: 'refused',
      wantMessage: 'spec.priority: Invalid value',
      difference: onlyOurs,
    }),
  ),
];

/** Every validation rule for a LeaseCandidate of coordination.k8s.io or of this project's own group. */
export const candidateCases: readonly CandidateCase[] = [
  ...names,
  ...leases,
  ...versions,
  ...order,
  ...strategies,
  ...times,
  ...priorities,
];
