/** A decision in words, for `why`, `screen` and the view. */
import { showDecCoin } from "../../market/coin.ts";
import { type Check, type RecordedDecision, refusals } from "./decision.ts";

const signs: Readonly<Record<Check["verdict"], string>> = { pass: "✓", fail: "✗", "not asked": "–" };

/** One line: what came of it. */
export function summary(decision: RecordedDecision): string {
  const price = decision.price ? ` at ${showDecCoin(decision.price)} per block` : "";
  if (decision.verdict === "bid") return `bid${price}`;
  const [first, ...others] = refusals(decision);
  const more = others.length > 0 ? `, and ${others.length} more` : "";
  return first ? `no: ${first.reason} (${first.name}${more})` : "no";
}

/** The summary and one line for each check: ✓ it passed, ✗ it failed, – it was not asked. */
export function explain(decision: RecordedDecision): string[] {
  const width = Math.max(0, ...decision.checks.map(({ name }) => name.length));
  const lines = decision.checks.map(
    ({ name, verdict, reason }) => `${signs[verdict]} ${name.padEnd(width)}  ${reason}`,
  );
  return [summary(decision), ...lines];
}
