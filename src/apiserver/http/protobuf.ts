import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { FieldSchema, StructSchema, TypeSchema } from '../schema/schema.ts';

/** Every protobuf body begins with these bytes. */
const MAGIC = Buffer.from('k8s\0', 'latin1');
/** The attributes of a property after an assignment. */
const PLAIN = { writable: true, enumerable: true, configurable: true };

/** Translates an object in the protobuf format of client-go into JSON. @throws {RangeError} if it is malformed */
export function objectFromProtobuf(body: Buffer, schema: StructSchema): JsonObject {
  if (body.length === 0) throw new RangeError('empty data');
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new RangeError(
      `provided data does not appear to be a protobuf message, expected prefix [${[...MAGIC].join(' ')}]`,
    );
  }
  let type: JsonObject = {};
  let object: JsonObject = {};
  for (const { number, value } of readFields(body.subarray(MAGIC.length))) {
    if (typeof value === 'number') continue;
    if (number === 1) type = typeMeta(value);
    if (number === 2) object = structFrom(value, schema);
  }
  return { ...type, ...object };
}

function typeMeta(message: Buffer): JsonObject {
  const names = ['', 'apiVersion', 'kind'];
  const type: Record<string, unknown> = {};
  for (const { number, value } of readFields(message)) {
    const name = names[number];
    if (name && typeof value !== 'number') type[name] = value.toString('utf8');
  }
  return type;
}

function structFrom(message: Buffer, schema: StructSchema): JsonObject {
  const names = fieldNames(schema);
  const struct: Record<string, unknown> = {};
  for (const { number, value } of readFields(message)) {
    const name = names.get(number);
    const field = name === undefined ? undefined : schema.fields[name];
    if (name === undefined || field === undefined) continue;
    const read = valueFrom(value, field.type, struct[name]);
    if (!isLeftOut(read, field)) struct[name] = read;
  }
  return struct;
}

/**
 * Returns the new value of a field. `before` is its value so far: each element of a list or a map is a separate protobuf
 * field and is added to it.
 */
function valueFrom(value: number | Buffer, type: TypeSchema, before: unknown): unknown {
  switch (type.kind) {
    case 'list': {
      const list: unknown[] = Array.isArray(before) ? before : [];
      list.push(valueFrom(value, type.items, undefined));
      return list;
    }
    case 'boolean':
      return value !== 0;
    case 'int32':
    case 'int64':
      return typeof value === 'number' ? value : 0;
    case 'string':
      return bytesOf(value).toString('utf8');
    case 'time':
    case 'microTime':
      return timeFrom(bytesOf(value), type.kind);
    case 'map': {
      const [key, element] = entryFrom(bytesOf(value), type.values);
      const map: Record<string, unknown> = isJsonObject(before) ? before : {};
      // Unlike an assignment, defineProperty accepts the key `__proto__`.
      Object.defineProperty(map, key, { value: element, ...PLAIN });
      return map;
    }
    case 'struct':
      return structFrom(bytesOf(value), type);
    case 'opaque':
      return jsonFrom(bytesOf(value));
  }
}

/** Clients always write these fields, so a zero value counts as absent. */
function isLeftOut(value: unknown, { zero }: FieldSchema): boolean {
  return value === undefined || (zero === 'omit' && (value === '' || value === 0 || value === false));
}

function bytesOf(value: number | Buffer): Buffer {
  if (typeof value === 'number') throw new RangeError('proto: wrong wireType');
  return value;
}

/** Returns undefined for an empty message, which means "no time". */
function timeFrom(message: Buffer, kind: 'time' | 'microTime'): string | undefined {
  if (message.length === 0) return undefined;
  let seconds = 0;
  let nanos = 0;
  for (const { number, value } of readFields(message)) {
    if (number === 1) seconds = Number(value);
    if (number === 2) nanos = Number(value);
  }
  const whole = new Date(seconds * 1000).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length);
  const micros = String(Math.floor(nanos / 1000)).padStart(6, '0');
  return kind === 'time' ? `${whole}Z` : `${whole}.${micros}Z`;
}

function entryFrom(message: Buffer, values: TypeSchema): [key: string, value: unknown] {
  let key = '';
  let element: unknown = '';
  for (const { number, value } of readFields(message)) {
    if (number === 1) key = bytesOf(value).toString('utf8');
    if (number === 2) element = valueFrom(value, values, undefined);
  }
  return [key, element];
}

function jsonFrom(message: Buffer): unknown {
  for (const { number, value } of readFields(message)) {
    if (number === 1 && typeof value !== 'number' && value.length > 0) {
      return JSON.parse(value.toString('utf8'));
    }
  }
  return undefined;
}

/** One field of a message: a number for a varint, else its bytes. */
interface WireField {
  readonly number: number;
  readonly value: number | Buffer;
}

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;

/**
 * Yields the fields of a protobuf message, in the order of the bytes. Varints are read as signed.
 * @throws {RangeError} if a field is incomplete or has an unknown wire type.
 */
export function* readFields(message: Buffer): Generator<WireField> {
  let offset = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[offset];
      if (byte === undefined) throw new RangeError('unexpected EOF');
      offset += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('proto: integer overflow');
  };
  const bytes = (length: number): Buffer => {
    const end = offset + length;
    if (end > message.length) throw new RangeError('unexpected EOF');
    const read = message.subarray(offset, end);
    offset = end;
    return read;
  };
  while (offset < message.length) {
    const tag = Number(varint());
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case VARINT:
        yield { number, value: Number(BigInt.asIntN(64, varint())) };
        break;
      case BYTES:
        yield { number, value: bytes(Number(varint())) };
        break;
      case FIXED_64:
        yield { number, value: bytes(8) };
        break;
      case FIXED_32:
        yield { number, value: bytes(4) };
        break;
      default:
        throw new RangeError(`proto: illegal wireType ${tag % 8}`);
    }
  }
}

const oneStrategy = 'leaseName pingTime renewTime binaryVersion emulationVersion strategy';

/** The field names of each model, by protobuf number from 1; `-` marks an unused number. */
const fieldsByModel: Readonly<Record<string, string>> = {
  'coordination.v1.Lease': 'metadata spec',
  'coordination.v1.LeaseSpec':
    'holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions strategy ' +
    'preferredHolder',
  'coordination.v1beta1.LeaseCandidate': 'metadata spec',
  'coordination.v1beta1.LeaseCandidateSpec': oneStrategy,
  'coordination.v1alpha2.LeaseCandidate': 'metadata spec',
  'coordination.v1alpha2.LeaseCandidateSpec': oneStrategy,
  'coordination.v1alpha1.LeaseCandidate': 'metadata spec',
  'coordination.v1alpha1.LeaseCandidateSpec':
    'leaseName pingTime renewTime binaryVersion emulationVersion preferredStrategies',
  'core.v1.Namespace': 'metadata spec status',
  'core.v1.NamespaceSpec': 'finalizers',
  'core.v1.NamespaceStatus': 'phase conditions',
  'core.v1.NamespaceCondition': 'type status - lastTransitionTime reason message',
  'core.v1.Event':
    'metadata involvedObject reason message source firstTimestamp lastTimestamp count type eventTime ' +
    'series action related reportingComponent reportingInstance',
  'core.v1.EventSeries': 'count lastObservedTime',
  'core.v1.EventSource': 'component host',
  'core.v1.ObjectReference': 'kind namespace name uid apiVersion resourceVersion fieldPath',
  'meta.v1.ObjectMeta':
    'name generateName namespace selfLink uid resourceVersion generation creationTimestamp ' +
    'deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences finalizers - - ' +
    'managedFields',
  'meta.v1.OwnerReference': 'kind - name uid apiVersion controller blockOwnerDeletion',
  'meta.v1.ManagedFieldsEntry': 'manager operation apiVersion time - fieldsType fieldsV1 subresource',
  'meta.v1.DeleteOptions':
    'gracePeriodSeconds preconditions orphanDependents propagationPolicy dryRun ' +
    'ignoreStoreReadErrorWithClusterBreakingPotential',
  'meta.v1.Preconditions': 'uid resourceVersion',
  'authorization.v1.SelfSubjectAccessReview': 'metadata spec',
  'authorization.v1.SelfSubjectAccessReviewSpec': 'resourceAttributes nonResourceAttributes',
  'authorization.v1.ResourceAttributes': 'namespace verb group version resource subresource name',
  'authorization.v1.NonResourceAttributes': 'path verb',
  'authentication.v1.SelfSubjectReview': 'metadata',
};

const namesByModel = new Map<string, ReadonlyMap<number, string>>(
  Object.entries(fieldsByModel).map(([model, fields]) => [
    model,
    new Map(fields.split(' ').flatMap((name, index) => (name === '-' ? [] : [[index + 1, name] as const]))),
  ]),
);

/** Returns the field names of a type by protobuf number; empty for a type without protobuf. */
export function fieldNames({ model }: StructSchema): ReadonlyMap<number, string> {
  return namesByModel.get(model.split('.').slice(-3).join('.')) ?? new Map();
}
