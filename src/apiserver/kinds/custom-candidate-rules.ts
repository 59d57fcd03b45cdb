import { compare } from 'semver';
import type { JsonObject } from '../../support/json.ts';
import { type FieldError, invalid } from '../errors/field-error.ts';
import { OLDEST_EMULATION_VERSION } from './leases.ts';
import { textIn } from './object-fields.ts';

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}([.]${LABEL})*`;
const NUMBER = '(0|[1-9][0-9]{0,14})';
const IDENTIFIER = `(${NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`;
const DATE =
  '([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)';
const CLOCK_TIME = '([01][0-9]|2[0-3]):[0-5][0-9]';

const leaseName = wholly(SUBDOMAIN);
const version = wholly(
  `${NUMBER}[.]${NUMBER}[.]${NUMBER}(-${IDENTIFIER}([.]${IDENTIFIER})*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?`,
);
const customStrategy = wholly(`${SUBDOMAIN}/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`);
const microTime = wholly(`${DATE}T${CLOCK_TIME}:[0-5][0-9][.][0-9]{6}(Z|[+-]${CLOCK_TIME})`);
const noVersion = /^0[.]0[.]0([+]|$)/;
const LONGEST_DOMAIN = 253;
const INT32_LIMIT = 2 ** 31;

const VERSION_RULE =
  'set it to a semantic version such as 1.36.3 or 2.0.0-rc.1: three numbers, no leading v or zeros, no number of more than 15 digits';
const TIME_RULE =
  'set it to a time in RFC 3339 with exactly six decimals, such as 2026-11-22T10:00:00.000000Z';

/** What a field has to obey, and what is said of one that does not. */
interface Rule {
  readonly field: string;
  readonly allows: (value: never) => boolean;
  readonly message: string;
}

const fieldRules: readonly Rule[] = [
  {
    field: 'leaseName',
    allows: (name: string) => leaseName.test(name),
    message:
      'set it to the name of a Lease: lower-case letters, digits, - and ., where each part between dots begins and ends with a letter or digit',
  },
  { field: 'binaryVersion', allows: isVersion, message: VERSION_RULE },
  { field: 'emulationVersion', allows: isVersion, message: VERSION_RULE },
  {
    field: 'priority',
    allows: (priority: number) => priority >= -INT32_LIMIT && priority < INT32_LIMIT,
    message: 'set it to a whole number from -2147483648 to 2147483647',
  },
  {
    field: 'strategy',
    allows: isStrategy,
    message:
      'set it to OldestEmulationVersion, or to a strategy with a domain in its name, such as example.com/nearest: at most 253 characters before the slash, 63 after it',
  },
  { field: 'renewTime', allows: isMicroTime, message: TIME_RULE },
  { field: 'pingTime', allows: isMicroTime, message: TIME_RULE },
];

/**
 * What is wrong with the spec of a LeaseCandidate of this project's group by the rules of its custom resource definition.
 * Its fields are of their types. `old` is given for an update.
 */
export function customCandidateProblems(spec: JsonObject, old?: JsonObject): readonly FieldError[] {
  const broken = fieldRules.filter(({ field, allows }) => {
    const value = spec[field];
    return value !== undefined && !allows(value as never);
  });
  return [
    ...emulationProblems(spec),
    ...broken.map(({ field, message }) => invalid(`spec.${field}`, spec[field], message)),
    ...(old === undefined || old['leaseName'] === spec['leaseName']
      ? []
      : [
          invalid(
            'spec.leaseName',
            spec['leaseName'],
            'it cannot be changed: delete this candidate, and create one for the other Lease',
          ),
        ]),
  ];
}

/** How versions stand to each other, which the real server tells without a value. */
function emulationProblems(spec: JsonObject): readonly FieldError[] {
  if (spec['emulationVersion'] === undefined) return [];
  const [emulation, binary] = [textIn(spec, 'emulationVersion'), textIn(spec, 'binaryVersion')];
  const problem = (message: string): FieldError => ({
    reason: 'FieldValueInvalid',
    field: 'spec.emulationVersion',
    message: `Invalid value: ${message}`,
  });
  const isHigher = isVersion(emulation) && isVersion(binary) && compare(emulation, binary) > 0;
  const isNone =
    spec['strategy'] === OLDEST_EMULATION_VERSION && noVersion.test(emulation) && !noVersion.test(binary);
  return [
    ...(isHigher
      ? [
          problem(
            'it must not be higher than binaryVersion: lower it, raise binaryVersion, or leave it out if the program emulates no older version',
          ),
        ]
      : []),
    ...(isNone
      ? [
          problem(
            'set it to the version that the program emulates, or leave it out: under OldestEmulationVersion, 0.0.0 would lead before every other version',
          ),
        ]
      : []),
  ];
}

function isVersion(text: string): boolean {
  return version.test(text);
}

function isMicroTime(text: string): boolean {
  return microTime.test(text);
}

function isStrategy(strategy: string): boolean {
  if (strategy === OLDEST_EMULATION_VERSION) return true;
  return customStrategy.test(strategy) && strategy.indexOf('/') <= LONGEST_DOMAIN;
}

function wholly(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`);
}
