/** Which of the host names that are not well are told of: owners take turns, so that one with many hides nobody else's. */
import type { Condition } from "../../runtime/condition.ts";
import type { HostHealth } from "./hostname-operator.ts";

export function* unwellConditions(unwell: readonly HostHealth[], most: number): Iterable<Condition> {
  const told = inTurns(unwell).slice(0, most);
  for (const { host, lease, health, why } of told) {
    const message = `lease ${lease}: ${host} is ${health}${why && `: ${why}`}`;
    yield { type: "HostnameUnwell", subject: host, message };
  }
  const left = unwell.length - told.length;
  if (left > 0) yield { type: "HostnameUnwell", message: `${left} more host names are not well` };
}

/** The first of each owner, then the second of each. */
function inTurns(unwell: readonly HostHealth[]): HostHealth[] {
  const turns = new Map<string, number>();
  const numbered = unwell.map((each) => {
    const [owner = ""] = each.lease.split("/");
    const turn = turns.get(owner) ?? 0;
    turns.set(owner, turn + 1);
    return { each, turn };
  });
  return numbered.sort((a, b) => a.turn - b.turn).map(({ each }) => each);
}
