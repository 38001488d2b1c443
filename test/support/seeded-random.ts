/** Random numbers from a seed. */
import { fromUint32, type Random } from "../../src/runtime/random.ts";

/** The same seed gives the same sequence on every machine (splitmix32: small, and good enough for jitter and tests). */
export function createSeededRandom(seed: number): Random {
  let state = seed | 0;
  return fromUint32(() => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  });
}
