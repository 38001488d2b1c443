/**
 * For suites that crash, kill, or play long stories: `npm test` takes a sample, `npm run test:long` every kind of boundary, and
 * `npm run soak` more seeds.
 */
import { type TestContext, test } from "node:test";
import { seed, soaking } from "./runs.ts";

export const thorough = soaking || process.env["TEST_EFFORT"] === "long";

export function counts<T>(quick: T, long: T, soak: T = long): T {
  return soaking ? soak : thorough ? long : quick;
}

/** The seeds of stories: the same ones each time, or others in each run of `npm run soak`. */
export function seeds(count: number): number[] {
  const first = soaking ? 1 + ((seed * 1_000) % 2 ** 30) : 1;
  return Array.from({ length: count }, (_, index) => first + index);
}

/** What `npm test` does as well as `npm run test:long` could, which does not do it again. */
export function quickTest(name: string, play: (t: TestContext) => void | Promise<void>): void {
  if (soaking || !thorough) test(name, play);
}
