/**
 * Encodes a state as numbers, so that states with the same possible futures have the same encoding. Instants are
 * relative to now, and values that are only compared are numbered by their first occurrence.
 */
export class Sink {
  words = new Int32Array(4096);
  length = 0;
  /** True for one state in many, for which all fields of the objects are checked. */
  isChecking = false;
  /** Whether times of Leases are compared with times of containers (rule 17). */
  hasPods = false;
  #nowMs = 0;
  #baseNumber = 0;
  #states = 0;
  #names: unknown[] = [];

  /** Begins a new state. The numbers of terms are relative to `baseNumber`. */
  begin(nowMs: number, baseNumber: number): void {
    this.#nowMs = nowMs;
    this.#baseNumber = baseNumber;
    this.length = 0;
    this.#names = [];
    this.isChecking = this.#states++ % CHECKED_STATES === 0;
  }

  put(value: number): void {
    if (this.length === this.words.length) {
      const larger = new Int32Array(2 * this.words.length);
      larger.set(this.words);
      this.words = larger;
    }
    this.words[this.length++] = value;
  }

  /** A value that is only compared for equality. */
  name(value: unknown): void {
    const index = this.#names.indexOf(value);
    this.put(index >= 0 ? index : this.#names.push(value) - 1);
  }

  instant(value: number, memoryMs: number): void {
    const since = value - this.#nowMs;
    this.put(since < -memoryMs ? LONG_AGO : since === Number.POSITIVE_INFINITY ? NEVER : since);
  }

  number(value: number): void {
    this.put(value - this.#baseNumber);
  }
}

const CHECKED_STATES = 50;

const ABSENT = 0x7ffffff0;
const NEVER = 0x7ffffff1;
const LONG_AGO = 0x7ffffff2;

/** How the values of a field are encoded. */
export type Kind<T = never> = (value: T, sink: Sink) => void;

const codes = new Map<unknown, number>();

/** Names of programs, reasons, flags: the value itself matters. */
export function plain(value: string | number | boolean | null | undefined, sink: Sink): void {
  let code = codes.get(value);
  if (code === undefined) {
    if (typeof value === 'object' && value !== null) throw new TypeError('an object needs a shape');
    code = codes.size;
    codes.set(value, code);
  }
  sink.put(code);
}

/** A resourceVersion, a uid, or a wall-clock time that is only compared. */
export function token(value: string | bigint | undefined, sink: Sink): void {
  if (value === undefined) sink.put(ABSENT);
  else sink.name(value);
}

/** An instant on the monotonic clock. All instants older than `memoryMs` are equal. */
export function instant(memoryMs: number): Kind<number | undefined> {
  return (value, sink) => {
    if (value === undefined) sink.put(ABSENT);
    else sink.instant(value, memoryMs);
  };
}

/** leaseTransitions: only differences matter. */
export function transitions(value: number | undefined, sink: Sink): void {
  if (value === undefined) sink.put(ABSENT);
  else sink.number(value);
}

/** A count. All counts above `most` are equal. */
export function count(most: number): Kind<number> {
  return (value, sink) => sink.put(Math.min(value, most));
}

/** Not encoded: it follows from other fields. */
export function ignored(): void {}

/**
 * An object with known fields. An unknown field throws: the author of a new field must declare its encoding. The code
 * is generated from the table, because reading fields by computed names takes several times as long.
 */
export function shape(fields: Readonly<Record<string, Kind>>): Kind<object | undefined> {
  const known = Object.entries(fields).filter(([, kind]) => kind !== ignored);
  const calls = known.map(([field], index) => `k${index}(value.${field}, sink);`);
  const kinds = known.map((_, index) => `k${index}`);
  const make = new Function(
    'kinds',
    'absent',
    'check',
    `
    const [${kinds.join()}] = kinds;
    return (value, sink) => {
      if (value === undefined) return sink.put(absent);
      if (sink.isChecking) check(value);
      ${calls.join('\n')}
    };`,
  );
  const check = (value: object) => {
    for (const field in value) if (!(field in fields)) throw new TypeError(`the field ${field} has no kind`);
  };
  return make(
    known.map(([, kind]) => kind),
    ABSENT,
    check,
  );
}

export function listOf(kind: Kind): Kind<readonly unknown[] | undefined> {
  return (value, sink) => {
    if (value === undefined) {
      sink.put(ABSENT);
      return;
    }
    sink.put(value.length);
    for (const item of value) (kind as Kind<unknown>)(item, sink);
  };
}

/** A map by names of programs. */
export function mapOf(kind: Kind): Kind<ReadonlyMap<string, unknown>> {
  return (value, sink) => {
    sink.put(value.size);
    if (value.size === 0) return;
    for (const key of [...value.keys()].sort()) {
      plain(key, sink);
      (kind as Kind<unknown>)(value.get(key), sink);
    }
  };
}
