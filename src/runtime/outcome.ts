/** What a run of a loop came to. The queue counts each kind and decides when the key is looked at again. */
import { ProviderError } from "./errors.ts";

export type Outcome =
  /** Nothing is left to do for this key; it is forgotten until somebody adds it again. */
  | { readonly kind: "done" }
  /** All is well for now; look again after a while, event or not. */
  | { readonly kind: "recheck"; readonly afterMs: number }
  /** Something else must happen first, and nobody needs to do anything about it. */
  | { readonly kind: "waiting"; readonly on: string; readonly why: string }
  /** A person is needed. Seldom looked at again by itself. */
  | { readonly kind: "stalled"; readonly why: string }
  /** It did not work; tried again, each time after a longer pause. */
  | { readonly kind: "failed"; readonly error: ProviderError };

export type OutcomeKind = Outcome["kind"];

export const outcomeKinds = ["done", "waiting", "stalled", "failed", "recheck"] as const satisfies OutcomeKind[];

const doneOutcome: Outcome = { kind: "done" };

export const done = (): Outcome => doneOutcome;
export const recheck = (afterMs: number): Outcome => ({ kind: "recheck", afterMs });
export const waiting = (on: string, why: string): Outcome => ({ kind: "waiting", on, why });
export const stalled = (why: string): Outcome => ({ kind: "stalled", why });
export const failed = (thrown: unknown): Outcome => ({ kind: "failed", error: ProviderError.from(thrown) });
