/** Which of the host names that are not well are told of: owners take turns, so that one with many hides nobody else's. */
import type { Condition } from "../../runtime/condition.ts";
import { takeTurns } from "../take-turns.ts";
import type { HostHealth } from "./hostname-feed.ts";

export function* unwellConditions(unwell: readonly HostHealth[], most: number): Iterable<Condition> {
  const told = takeTurns(unwell, ({ lease }) => lease.split("/")[0] ?? "").slice(0, most);
  for (const { host, lease, health, why } of told) {
    const message = `lease ${lease}: ${host} is ${health}${why && `: ${why}`}`;
    yield { type: "HostnameUnwell", subject: host, message };
  }
  const left = unwell.length - told.length;
  if (left > 0) yield { type: "HostnameUnwell", message: `${left} more host names are not well` };
}
