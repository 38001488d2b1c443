/** google.protobuf.Duration as a whole number of nanoseconds. */
import { type Codec, int32, int64, messageOf } from "./message.ts";

const nsPerSecond = 1_000_000_000n;

const parts = messageOf<{ seconds: bigint; nanos: number }>({ seconds: int64(1), nanos: int32(2) });

export const duration: Codec<bigint> = {
  encode: (ns) => parts.encode({ seconds: ns / nsPerSecond, nanos: Number(ns % nsPerSecond) }),
  decode(bytes) {
    const { seconds, nanos } = parts.decode(bytes);
    return seconds * nsPerSecond + BigInt(nanos);
  },
};
