/** What pods take of their nodes, as the inventory hears of them one change after the other. */
import { allocationOf, touchedNodes, type WatchedPod } from "../../src/operators/inventory/accounting/watched-pod.ts";

export function createAllocations() {
  const pods = new Map<string, WatchedPod>();
  return {
    /** Returns the nodes whose allocation it changed. */
    seen(value: WatchedPod): string[] {
      const before = pods.get(value.uid);
      pods.set(value.uid, value);
      return touchedNodes(before ? { type: "modified", value, before } : { type: "added", value });
    },
    gone(uid: string): string[] {
      const value = pods.get(uid);
      pods.delete(uid);
      return value ? touchedNodes({ type: "deleted", value }) : [];
    },
    ofNode: (name: string) => allocationOf([...pods.values()].filter(({ node }) => node === name)),
    gtSelected: () => new Set([...pods.values()].flatMap(({ gtSelected }) => gtSelected)),
    get size() {
      return pods.size;
    },
  };
}
