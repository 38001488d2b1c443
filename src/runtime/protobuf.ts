/** Protobuf messages from field numbers. Encoded as Go does it, so that what was decoded encodes to the same bytes. */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export interface Codec<T> {
  encode(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
}

export type Decoded<C> = C extends Codec<infer T> ? T : never;

/** One field: how it is written when it is there, and how what was read so far grows by one more occurrence. */
interface Field<T> {
  readonly number: number;
  readonly wireType: WireType;
  /** What a message without it holds. */
  absent(): T;
  write(writer: BinaryWriter, value: T): unknown;
  read(reader: BinaryReader, before: T): T;
}

type Fields<T> = { readonly [K in keyof T]-?: Field<T[K]> };

export interface GeneratedCodec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** A codec of an npm package. */
export function generated<T>(codec: GeneratedCodec<T>): Codec<T> {
  return { encode: (value) => codec.encode(value).finish(), decode: (bytes) => codec.decode(bytes) };
}

export function messageOf<T extends object>(fields: Fields<T>): Codec<T> {
  const list = Object.entries(fields) as [keyof T, Field<T[keyof T]>][];
  list.sort(([, a], [, b]) => a.number - b.number);
  const byNumber = new Map(list.map(([name, field]) => [field.number, { name, field }]));
  return {
    encode(value) {
      const writer = new BinaryWriter();
      for (const [name, field] of list) field.write(writer, value[name]);
      return writer.finish();
    },
    decode(bytes) {
      const value = Object.fromEntries(list.map(([name, { absent }]) => [name, absent()])) as T;
      const reader = new BinaryReader(bytes);
      while (reader.pos < reader.len) {
        const [number, wireType] = reader.tag();
        const known = byNumber.get(number);
        if (known?.field.wireType === wireType) value[known.name] = known.field.read(reader, value[known.name]);
        else reader.skip(wireType, number);
      }
      return value;
    },
  };
}

/** A message of an npm package with fields it lacks. They have higher numbers than its own, so they come last. */
export function extended<Known extends object, More extends object>(
  known: GeneratedCodec<Known>,
  more: Fields<More>,
): Codec<Known & More> {
  const rest = messageOf(more);
  return {
    encode: (value) => Buffer.concat([known.encode(value).finish(), rest.encode(value)]),
    decode: (bytes) => ({ ...known.decode(bytes), ...rest.decode(bytes) }),
  };
}

let itemsLeft = Number.POSITIVE_INFINITY;

/** The same for what a stranger sent: an empty item costs its sender two bytes, and who reads it hundreds. */
export function withFewItems<T>({ encode, decode }: Codec<T>, mostItems: number): Codec<T> {
  return {
    encode,
    decode(bytes) {
      itemsLeft = mostItems;
      try {
        return decode(bytes);
      } finally {
        itemsLeft = Number.POSITIVE_INFINITY;
      }
    },
  };
}

/** A nested message, text or bytes, which may be left out. */
export function optional<T>(number: number, codec: Codec<T>): Field<T | undefined> {
  return nested(number, codec, undefined);
}

/** One that is always written, even when all in it is zero. */
export function required<T>(number: number, codec: Codec<T>, absent: T): Field<T> {
  return nested<T, T>(number, codec, absent);
}

/** Text or bytes, which are left out when there is nothing in them. */
export function plain<T extends string | Uint8Array>(number: number, codec: Codec<T>, absent: T): Field<T> {
  const field = required(number, codec, absent);
  return { ...field, write: (writer, value) => value.length > 0 && field.write(writer, value) };
}

function nested<T, Absent extends T | undefined>(number: number, codec: Codec<T>, absent: Absent): Field<T | Absent> {
  return {
    number,
    wireType: WireType.LengthDelimited,
    absent: () => absent,
    write(writer, value) {
      if (value !== undefined) writer.tag(number, WireType.LengthDelimited).bytes(codec.encode(value));
    },
    read(reader, before) {
      // The last one counts, but whoever sent the others has them all read.
      if (before !== absent) takeItem();
      return codec.decode(reader.bytes());
    },
  };
}

function takeItem(): void {
  itemsLeft -= 1;
  if (itemsLeft < 0) throw new RangeError("it has more items than are read");
}

export function repeated<T>(number: number, codec: Codec<T>): Field<T[]> {
  return {
    number,
    wireType: WireType.LengthDelimited,
    absent: () => [],
    write(writer, values) {
      for (const value of values) writer.tag(number, WireType.LengthDelimited).bytes(codec.encode(value));
    },
    read(reader, before) {
      takeItem();
      before.push(codec.decode(reader.bytes()));
      return before;
    },
  };
}

/** A number or a boolean, which is left out when it is zero or false. */
function varint<T>(
  absent: T,
  write: (writer: BinaryWriter, value: T) => void,
  read: (reader: BinaryReader) => T,
): (number: number) => Field<T> {
  return (number) => ({
    number,
    wireType: WireType.Varint,
    absent: () => absent,
    write: (writer, value) => value !== absent && write(writer.tag(number, WireType.Varint), value),
    read,
  });
}

const bigint = (method: "int64" | "uint64") =>
  varint(
    0n,
    (writer, value) => writer[method](value),
    (reader) => BigInt(reader[method]()),
  );
const number = (method: "int32" | "uint32") =>
  varint(
    0,
    (writer, value) => writer[method](value),
    (reader) => reader[method](),
  );

export const int64 = bigint("int64");
export const uint64 = bigint("uint64");
export const uint32 = number("uint32");
/** Enums too. */
export const int32 = number("int32");
export const bool = varint(
  false,
  (writer, value) => writer.bool(value),
  (reader) => reader.bool(),
);

/** By name, in the order of the map. */
export function mapOf<T>(number: number, codec: Codec<T>): Field<ReadonlyMap<string, T>> {
  const entries = repeated(number, messageOf({ key: plain(1, text, ""), value: optional(2, codec) }));
  return {
    ...entries,
    absent: () => new Map(),
    write: (writer, values) =>
      entries.write(
        writer,
        [...values].map(([key, value]) => ({ key, value })),
      ),
    read(reader, before) {
      const [{ key, value } = { key: "", value: undefined }] = entries.read(reader, []);
      return new Map([...before, [key, value ?? codec.decode(new Uint8Array())]]);
    },
  };
}

export const text: Codec<string> = {
  encode: (value) => Buffer.from(value),
  decode: (bytes) => Buffer.from(bytes).toString(),
};

export const bytes: Codec<Uint8Array> = { encode: (value) => value, decode: (value) => value };

const nsPerSecond = 1_000_000_000n;
const secondsAndNanos = messageOf({ seconds: int64(1), nanos: int32(2) });

/** google.protobuf.Duration and Timestamp, each as a whole number of nanoseconds. */
export const nanoseconds: Codec<bigint> = {
  encode: (ns) => secondsAndNanos.encode({ seconds: ns / nsPerSecond, nanos: Number(ns % nsPerSecond) }),
  decode(wire) {
    const { seconds, nanos } = secondsAndNanos.decode(wire);
    return seconds * nsPerSecond + BigInt(nanos);
  },
};
