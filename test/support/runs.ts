/**
 * How often a property is tried: a small count for every change, a large one in `npm run soak`. Seeds are fixed, so that a change
 * is the only reason for a new result; soak draws new ones and prints them.
 */
import fc from "fast-check";

export const soaking = process.env["TEST_EFFORT"] === "soak";

/** The seed of a run: 1, or what `npm run soak` drew. */
export const seed = Number(process.env["TEST_SEED"] ?? 1);

fc.configureGlobal({ seed });

export function runs(quick: number, many: number): number {
  return soaking ? many : quick;
}
