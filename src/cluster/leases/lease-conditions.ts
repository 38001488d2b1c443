/** What an operator should know about leases: those that are not as they should be, and why. */
import { limits } from "../../runtime/limits.ts";
import type { HealthKeeper } from "../health/health-keeper.ts";
import { takeTurns } from "../take-turns.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import { isFailing, type LeaseState } from "./lease-states.ts";

export interface LeaseCondition {
  readonly type:
    | "ClusterUnknown"
    | "LeaseFrozen"
    | "LeaseHeld"
    | "LeaseRefused"
    | "LeaseFailing"
    | "LeaseUnhealthy"
    | "ManyLeasesUnhealthy"
    | "LeaseWithheld"
    | "AddressPending"
    | "ForeignObjects";
  /** The lease; none where it is about all of them. */
  readonly subject?: string;
  readonly message: string;
}

/** One about one lease. */
type LeaseFinding = LeaseCondition & { readonly subject: string };

/** While the cluster is away, that is told beside what was last known: nothing of it is over because nobody can look. */
export function leaseConditions({ states, trouble }: Pick<LeaseKeeper, "states" | "trouble">): LeaseCondition[] {
  const found: LeaseFinding[] = [];
  for (const [key, state] of states.lastKnown()) {
    for (const { type, message } of conditionsOf(state))
      found.push({ type, subject: key, message: `lease ${key}: ${message}` });
  }
  const away: LeaseCondition[] =
    trouble === undefined
      ? []
      : [{ type: "ClusterUnknown", message: `leases that use it are left as they are: ${trouble}` }];
  return [...away, ...told(found)];
}

/** Of leases that are not well. */
export function healthConditions({ alarms, brake }: Pick<HealthKeeper, "alarms" | "brake">): LeaseCondition[] {
  const found: LeaseFinding[] = [];
  for (const [key, troubles] of alarms()) {
    const texts = troubles.slice(0, limits.leaseTroublesTold).map(({ service, message }) => `${service}: ${message}`);
    found.push({ type: "LeaseUnhealthy", subject: key, message: `lease ${key}: ${texts.join("; ")}` });
  }
  const cause = brake();
  const message = `${cause}: no unhealthy lease is closed meanwhile`;
  return [...(cause === undefined ? [] : [{ type: "ManyLeasesUnhealthy", message } as const]), ...told(found)];
}

/** Owners take turns, so that one with many hides nobody else's; of what is left out the number is told. */
function told(found: readonly LeaseFinding[]): LeaseCondition[] {
  const inTurns = takeTurns(found, ({ subject }) => ownerOf(subject));
  const left = Map.groupBy(inTurns.slice(limits.leaseConditions), ({ type }) => type);
  return [
    ...inTurns.slice(0, limits.leaseConditions),
    ...Array.from(left, ([type, all]) => ({ type, message: `${all.length} more leases: see akash-provider leases` })),
  ];
}

function ownerOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

function* conditionsOf(lease: LeaseState): Iterable<Omit<LeaseCondition, "subject">> {
  const { state, why = "", withheld, addressless, foreign } = lease;
  if (state === "frozen") yield { type: "LeaseFrozen", message: why };
  if (state === "refused") yield { type: "LeaseRefused", message: why };
  if (state === "closing" && why !== "") yield { type: "LeaseHeld", message: why };
  if (isFailing(lease)) yield { type: "LeaseFailing", message: why };
  if (withheld) yield { type: "LeaseWithheld", message: `does not have ${withheld.join("; ")}` };
  if (addressless) yield { type: "AddressPending", message: `has no address for ${addressless.join(", ")}` };
  if (foreign) yield { type: "ForeignObjects", message: `objects that we did not make: ${foreign.join(", ")}` };
}
