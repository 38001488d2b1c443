/**
 * Stories that failed once are played again by `npm run test:long` and `npm run soak`. A case that fails prints the line to add
 * here, under the name of its story.
 */
import { thorough } from "./thorough.ts";

const failed: Readonly<Record<string, readonly StoryCase[]>> = {
  // MetalLB puts ports of one key on two addresses while the operator is away.
  "ip-crash: a pool of MetalLB's that grows and shrinks, many crashes": [
    { seed: 13, crashAt: 0 },
    { seed: 27, crashAt: 0 },
  ],
};

export interface StoryCase {
  readonly seed: number;
  /** The boundary at which the program ends, counted from 1; 0 for none. */
  readonly crashAt: number;
}

/** Plays stories in which nothing but chance differs. */
export async function playSeeds(name: string, seeds: readonly number[], play: (seed: number) => Promise<unknown>) {
  for (const seed of new Set([...seeds, ...failedOf(name).map((each) => each.seed)])) {
    await playCase(name, { seed, crashAt: 0 }, "no crash", () => play(seed));
  }
}

export function failedOf(name: string): readonly StoryCase[] {
  return (thorough && failed[name]) || [];
}

/** What is thrown says which case it was, and where to add it. */
export async function playCase<T>(name: string, { seed, crashAt }: StoryCase, about: string, play: () => Promise<T>) {
  try {
    return await play();
  } catch (thrown) {
    const row = `"${name}": [{ seed: ${seed}, crashAt: ${crashAt} }]`;
    throw new Error(`${about}; to play it always, add to test/support/failed-cases.ts: ${row}`, { cause: thrown });
  }
}
