/** Randomness is handed in like time, so that one seed replays a failure. */
import { randomBytes } from "node:crypto";

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  int(below: number): number;
  bytes(length: number): Uint8Array;
}

export const realRandom: Random = fromUint32(() => randomBytes(4).readUInt32LE());

/** `baseMs` spread by ±`share`, so that many waiters do not come back in the same instant. */
export function jitter(random: Random, baseMs: number, share = 0.2): number {
  return baseMs * (1 - share + 2 * share * random.next());
}

/** From a source of 32 random bits. */
export function fromUint32(draw: () => number): Random {
  const next = () => draw() / 2 ** 32;
  return {
    next,
    int: (below) => Math.floor(next() * below),
    bytes: (length) => Uint8Array.from({ length }, () => draw() & 0xff),
  };
}
