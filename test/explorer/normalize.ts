/**
 * Takes a state down as numbers, so that two come out alike where the same may follow from both: instants are relative to now,
 * and what only matters as being the same as something else is numbered by its first appearance.
 */
export class Sink {
  words = new Int32Array(4096);
  length = 0;
  /** Set for one state in many: whether all fields of its objects are known is looked at then. */
  isChecking = false;
  /** Whether times of Leases matter beside those of containers (rule 17). */
  hasPods = false;
  #nowMs = 0;
  #baseNumber = 0;
  #states = 0;
  #names: unknown[] = [];

  /** A new state; `baseNumber` is what the numbers of terms are relative to. */
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

  /** Something that only matters as being the same as another. */
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

/** How values of one field are taken down. */
export type Kind<T = never> = (value: T, sink: Sink) => void;

const codes = new Map<unknown, number>();

/** Names of programs, reasons, flags: what it says matters. */
export function plain(value: string | number | boolean | null | undefined, sink: Sink): void {
  let code = codes.get(value);
  if (code === undefined) {
    if (typeof value === 'object' && value !== null) throw new TypeError('an object needs a shape');
    code = codes.size;
    codes.set(value, code);
  }
  sink.put(code);
}

/** A resourceVersion, a uid, or a moment on a wall clock that is only compared. */
export function token(value: string | bigint | undefined, sink: Sink): void {
  if (value === undefined) sink.put(ABSENT);
  else sink.name(value);
}

/** An instant on the monotonic clock; longer ago than `memoryMs` it is as good as never. */
export function instant(memoryMs: number): Kind<number | undefined> {
  return (value, sink) => {
    if (value === undefined) sink.put(ABSENT);
    else sink.instant(value, memoryMs);
  };
}

/** leaseTransitions: what counts is by how much one is greater than another. */
export function transitions(value: number | undefined, sink: Sink): void {
  if (value === undefined) sink.put(ABSENT);
  else sink.number(value);
}

/** A count of which no more than `most` matters. */
export function count(most: number): Kind<number> {
  return (value, sink) => sink.put(Math.min(value, most));
}

/** Not looked at: it follows from what is. */
export function ignored(): void {}

/**
 * An object whose fields are all known. A field that is not fails loudly: whoever adds one has to say what it is. The code is
 * made from the table, as reading fields whose names are only known at run time takes several times as long.
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
