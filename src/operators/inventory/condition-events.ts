/** Conditions that last become Kubernetes Events of the node, the storage class or the operator's own pod. */

import type { EventRecorder, ObjectReference } from "../../kube/event-recorder.ts";
import { sleep } from "../../runtime/clock.ts";
import type { Condition } from "../../runtime/condition.ts";
import { second } from "../../runtime/durations.ts";
import type { OperatorGround } from "../ground.ts";
import type { Inventory } from "./inventory.ts";

/** A condition that is there at two looks running is worth an Event; at a start many come and go. */
const inventoryConditionLookMs = 30 * second;

interface ConditionEventsDeps extends Pick<OperatorGround, "clock"> {
  readonly recorder: Pick<EventRecorder, "record">;
  readonly inventory: () => Inventory | undefined;
  readonly uidOfNode: (name: string) => string | undefined;
  /** Whom conditions of the whole are about; undefined outside a cluster, where nobody would find them. */
  readonly self: () => ObjectReference | undefined;
}

export async function tellConditions(deps: ConditionEventsDeps, signal: AbortSignal): Promise<void> {
  let before = new Set<string>();
  for (;;) {
    await sleep(deps.clock, inventoryConditionLookMs, signal);
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

function* conditionsOf(deps: ConditionEventsDeps): Iterable<[ObjectReference, readonly Condition[]]> {
  const inventory = deps.inventory();
  if (!inventory) return;
  for (const { name, conditions } of inventory.nodes) {
    const uid = deps.uidOfNode(name);
    yield [{ apiVersion: "v1", kind: "Node", name, ...(uid !== undefined && { uid }) }, conditions];
  }
  for (const { class: name, conditions } of inventory.storage) {
    yield [{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", name }, conditions];
  }
  const self = deps.self();
  if (self) yield [self, inventory.conditions];
}
