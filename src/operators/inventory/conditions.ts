/** Conditions of stale caches, and Kubernetes Events of lasting ones: of the node, the class or our own pod. */
import type { EventRecorder, ObjectReference } from "../../kube/event-recorder.ts";
import type { WatchCache } from "../../kube/kube.ts";
import { sleep } from "../../runtime/clock.ts";
import { type Condition, condition } from "../../runtime/condition.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { OperatorDeps } from "../operator-service.ts";
import type { Inventory } from "./inventory.ts";

/** A condition that holds at two checks in a row becomes an Event; at a start many come and go. */
const inventoryConditionPeriodMs = 30 * second;

interface RecordedConditions extends Pick<OperatorDeps, "clock"> {
  readonly recorder: Pick<EventRecorder, "record">;
  readonly assembly: {
    readonly inventory: Inventory | undefined;
    readonly nodes: Pick<WatchCache<{ readonly uid: string | undefined }>, "get">;
  };
  /** The operator's own pod; undefined outside a cluster. */
  readonly self: () => ObjectReference | undefined;
}

export async function recordConditions(deps: RecordedConditions, signal: AbortSignal): Promise<never> {
  let before = new Set<string>();
  for (;;) {
    await sleep(deps.clock, inventoryConditionPeriodMs, signal);
    const seen = new Set<string>();
    for (const [regarding, conditions] of conditionsOf(deps)) {
      for (const [reason, messages] of Map.groupBy(conditions, ({ type }) => type)) {
        const key = [regarding.kind, regarding.name, reason].join("/");
        seen.add(key);
        if (!before.has(key)) continue;
        const note = messages.map(({ message }) => message).join("; ");
        deps.recorder.record({ regarding, type: "Warning", reason, action: "Look", note });
      }
    }
    before = seen;
  }
}

function* conditionsOf({
  assembly,
  self,
}: RecordedConditions): Iterable<readonly [ObjectReference, readonly Condition[]]> {
  const { inventory, nodes } = assembly;
  if (!inventory) return;
  for (const { name, conditions } of inventory.nodes) {
    const uid = nodes.get({ name })?.uid;
    yield [{ apiVersion: "v1", kind: "Node", name, ...(uid !== undefined && { uid }) }, conditions];
  }
  for (const { class: name, conditions } of inventory.storage)
    yield [{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", name }, conditions];
  const own = self();
  if (own) yield [own, inventory.conditions];
}

/** By what they hold. */
export type Caches = Readonly<Record<string, WatchCache<unknown>>>;

/** A kind that is not installed has no objects to miss. */
export function staleness(caches: Caches): Condition[] {
  return Object.entries(caches).flatMap(([what, { ready, error, size }]) => {
    if (!error || (size === 0 && ProviderError.is(error, "AKP_KUBE_KIND_MISSING"))) return [];
    const state = ready ? "may be out of date" : "were not seen yet";
    return [condition("Stale", `${what} ${state}: ${error.message}`)];
  });
}

/** Undefined once all are synced. */
export function waitingFor(caches: Caches): string | undefined {
  const [what, cache] = Object.entries(caches).find(([, { ready }]) => !ready) ?? [];
  return cache && `${what} were not seen yet${cache.error ? `: ${cache.error.message}` : ""}`;
}
