/** What an operator should know about leases: those that are not as they should be, and why. */
import { limits } from "../../runtime/limits.ts";
import type { Trouble } from "../health/lease-health.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import type { LeaseState } from "./lease-states.ts";

export interface LeaseCondition {
  readonly type:
    | "ClusterUnknown"
    | "LeaseFrozen"
    | "LeaseHeld"
    | "LeaseRefused"
    | "LeaseFailing"
    | "LeaseUnhealthy"
    | "LeaseWithheld"
    | "AddressPending"
    | "ForeignObjects";
  /** The lease; none where it is about all of them. */
  readonly subject?: string;
  readonly message: string;
}

/** The first of them: what is wrong with everything is said once. */
export function leaseConditions({ states, trouble }: Pick<LeaseKeeper, "states" | "trouble">): LeaseCondition[] {
  if (trouble !== undefined) return [{ type: "ClusterUnknown", message: `leases are left as they are: ${trouble}` }];
  const found: LeaseCondition[] = [];
  for (const [key, state] of states.all()) {
    for (const { type, message } of conditionsOf(state))
      found.push({ type, subject: key, message: `lease ${key}: ${message}` });
    if (found.length >= limits.leaseConditions) break;
  }
  return found.slice(0, limits.leaseConditions);
}

/** Of leases that are not well; while nothing is known, nothing is said of them. */
export function healthConditions(
  { trouble }: Pick<LeaseKeeper, "trouble">,
  { alarms }: { alarms(): Iterable<readonly [string, readonly Trouble[]]> },
): LeaseCondition[] {
  if (trouble !== undefined) return [];
  const found: LeaseCondition[] = [];
  for (const [key, troubles] of alarms()) {
    if (found.length >= limits.leaseConditions) break;
    const texts = troubles.slice(0, limits.leaseTroublesTold).map(({ service, message }) => `${service}: ${message}`);
    found.push({ type: "LeaseUnhealthy", subject: key, message: `lease ${key}: ${texts.join("; ")}` });
  }
  return found;
}

function* conditionsOf({
  state,
  why = "",
  withheld,
  addressless,
  foreign,
}: LeaseState): Iterable<Omit<LeaseCondition, "subject">> {
  if (state === "frozen") yield { type: "LeaseFrozen", message: why };
  if (state === "refused") yield { type: "LeaseRefused", message: why };
  if (state === "closing" && why !== "") yield { type: "LeaseHeld", message: why };
  if (state === "deploying" && why !== "") yield { type: "LeaseFailing", message: why };
  if (withheld) yield { type: "LeaseWithheld", message: `does not have ${withheld.join("; ")}` };
  if (addressless) yield { type: "AddressPending", message: `has no address for ${addressless.join(", ")}` };
  if (foreign) yield { type: "ForeignObjects", message: `objects that we did not make: ${foreign.join(", ")}` };
}
