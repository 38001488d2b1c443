import type { MirrorView } from "./chain.ts";

/** Why nothing may be judged by what the mirror has: until it was built, it is empty. */
export function mirrorTrouble({ ready }: Pick<MirrorView, "ready">): string | undefined {
  return ready ? undefined : "the mirror has not been built yet";
}
