/**
 * What is there for a host name besides what is wanted, and whether it may go: a route of another lease of the same owner,
 * or of another kind, serves until the new one does.
 */
import { kinds } from "../../kube/kinds.ts";
import { formatLeaseId } from "../../market/ids.ts";
import { limits } from "../../runtime/limits.ts";
import type { RouteObjects } from "./backends/backend.ts";
import { type Condition, condition } from "./condition.ts";
import { isRoute, type LiveRoute } from "./live-route.ts";

interface Standing {
  /** The new route, once the cache shows it. */
  readonly live: LiveRoute | undefined;
  /** How many workloads behind it answer. */
  readonly ready: number;
  readonly removesOldKind: boolean;
  /** Until what was written last is in force at the controller. */
  readonly unsettledMs: number;
  readonly nowMs: number;
}

interface Left {
  readonly removed: readonly LiveRoute[];
  readonly conditions: readonly Condition[];
  readonly lookAgainMs?: number;
}

const nothing: Left = { removed: [], conditions: [] };

export function sortLeft(
  { parts, route, policies }: RouteObjects,
  routes: readonly LiveRoute[],
  standing: Standing,
): Left {
  const wanted = [route, ...parts, ...policies];
  const isWanted = ({ kind, namespace, name }: LiveRoute) =>
    wanted.some(
      ({ kind: wantedKind, object: { metadata } }) =>
        kind === wantedKind && name === metadata.name && namespace === metadata.namespace,
    );
  const left = routes.filter((each) => !isWanted(each) && !each.isDeleting);
  if (left.length === 0) return nothing;
  const { namespace } = route.object.metadata;
  const oldKind = left.filter((each) => each.kind !== route.kind && isRoute(each));
  const stays = standing.removesOldKind ? [] : oldKind;
  const kept = stays.slice(0, 1).map(keptText);
  // What an old route refers to stays with it.
  const going = left.filter(
    (each) => !stays.some((old) => old === each || (old.namespace === each.namespace && !isRoute(each))),
  );
  if (going.length === 0) return { removed: [], conditions: kept };
  // Nothing leads to the old parts of a route that is already new.
  const isReplaced = going.every((each) => each.namespace === namespace && !oldKind.includes(each));
  const waitMs = isReplaced ? standing.unsettledMs : takeOverMs(standing);
  if (waitMs === 0) return { removed: going, conditions: kept };
  if (isReplaced) return { removed: [], conditions: kept, lookAgainMs: standing.unsettledMs };
  const pending = condition("TransferPending", pendingText(going[0] as LiveRoute, standing));
  return { removed: [], conditions: [...kept, pending], ...(waitMs !== undefined && { lookAgainMs: waitMs }) };
}

/** How long until the new route may be alone; undefined where that is for others to say, and they will be heard. */
function takeOverMs({ live, ready, unsettledMs, nowMs }: Standing): number | undefined {
  if (!live || live.isDeleting || live.acceptance.state === "refused") return undefined;
  if (live.kind === kinds.httpRoute && live.acceptance.state !== "accepted") return undefined;
  return Math.max(unsettledMs, ready > 0 ? 0 : live.createdAtMs + limits.hostnameTransferMs - nowMs);
}

function keptText({ kind }: LiveRoute): Condition {
  return condition(
    "OldRouteKept",
    `its ${kind.kind} from before the mode was changed stays, by --migrations-enabled=false`,
  );
}

function pendingText({ kind, lease }: LiveRoute, { live }: Standing): string {
  const what = `the ${kind.kind} of lease ${lease ? formatLeaseId(lease) : ""} serves it until`;
  if (live?.acceptance.state !== "refused")
    return `${what} the new route is in force and a workload behind it is ready`;
  return `${what} the new route is accepted`;
}
