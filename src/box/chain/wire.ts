/** Protobuf fields read by number, for what the generated codecs do not say: order, unknown fields, nanoseconds. */
import { BinaryReader } from "@bufbuild/protobuf/wire";

export interface WireField {
  readonly number: number;
  readonly wireType: number;
  /** Of a varint, else undefined. */
  readonly varint: bigint | undefined;
  /** Of a field with a length, else empty. */
  readonly bytes: Uint8Array;
}

export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

export function* wireFields(message: Uint8Array): IterableIterator<WireField> {
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const number = tag >>> 3;
    const wireType = tag & 7;
    const varint = wireType === wireTypes.varint ? BigInt(reader.uint64()) : undefined;
    const bytes = wireType === wireTypes.bytes ? reader.bytes() : new Uint8Array();
    if (wireType === wireTypes.fixed64) reader.fixed64();
    else if (wireType === wireTypes.fixed32) reader.fixed32();
    else if (wireType > wireTypes.bytes) throw new Error(`cannot parse reserved wire type ${wireType}`);
    yield { number, wireType, varint, bytes };
  }
}
