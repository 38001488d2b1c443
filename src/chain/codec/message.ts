/**
 * Protobuf messages that the chain's npm package does not know, or knows only in part, put together from field numbers.
 * A field is read and written exactly as the chain does it, so that what was decoded encodes to the same bytes again.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export interface Codec<T> {
  encode(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
}

/** One field: how it is written when it is there, and how what was read so far grows by one more occurrence. */
export interface Field<T> {
  readonly number: number;
  readonly wireType: WireType;
  /** What a message without it holds. */
  absent(): T;
  write(writer: BinaryWriter, value: T): void;
  read(reader: BinaryReader, before: T): T;
}

export type Fields<T> = { readonly [K in keyof T]-?: Field<T[K]> };

interface GeneratedCodec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** A codec of the npm package. */
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

/** A message of the npm package with fields it lacks. They have higher numbers than its own, so they come last. */
export function extended<Known extends object, More extends object>(
  known: Codec<Known>,
  more: Fields<More>,
): Codec<Known & More> {
  const rest = messageOf(more);
  return {
    encode: (value) => Buffer.concat([known.encode(value), rest.encode(value)]),
    decode: (bytes) => ({ ...known.decode(bytes), ...rest.decode(bytes) }),
  };
}

/** A nested message that may be left out. */
export function optional<T>(number: number, codec: Codec<T>): Field<T | undefined> {
  return {
    number,
    wireType: WireType.LengthDelimited,
    absent: () => undefined,
    write(writer, value) {
      if (value !== undefined) writer.tag(number, WireType.LengthDelimited).bytes(codec.encode(value));
    },
    read: (reader) => codec.decode(reader.bytes()),
  };
}

/** A nested message that the chain always writes, even when all in it is zero. */
export function required<T>(number: number, codec: Codec<T>, absent: T): Field<T> {
  return {
    number,
    wireType: WireType.LengthDelimited,
    absent: () => absent,
    write: (writer, value) => writer.tag(number, WireType.LengthDelimited).bytes(codec.encode(value)),
    read: (reader) => codec.decode(reader.bytes()),
  };
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
      before.push(codec.decode(reader.bytes()));
      return before;
    },
  };
}

export function int64(number: number): Field<bigint> {
  return {
    number,
    wireType: WireType.Varint,
    absent: () => 0n,
    write(writer, value) {
      if (value !== 0n) writer.tag(number, WireType.Varint).int64(value);
    },
    read: (reader) => BigInt(reader.int64()),
  };
}

/** Whole numbers of 32 bits, enums among them. */
export function int32(number: number): Field<number> {
  return {
    number,
    wireType: WireType.Varint,
    absent: () => 0,
    write(writer, value) {
      if (value !== 0) writer.tag(number, WireType.Varint).int32(value);
    },
    read: (reader) => reader.int32(),
  };
}
