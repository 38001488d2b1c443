/**
 * Puts the picture together. What changed is noted at once and folded a moment later, so that a burst of events costs
 * one picture; a node that nothing happened to is taken over as it was.
 */
import type { Clock, Timer } from "../../runtime/clock.ts";
import { limits } from "../../runtime/limits.ts";
import type { Inventory, NodeInventory } from "./inventory.ts";

export interface AssemblyDeps {
  readonly clock: Clock;
  /** The node as it is now; undefined when there is none. */
  readonly nodeOf: (name: string) => NodeInventory | undefined;
  readonly nodeNames: () => Iterable<string>;
  readonly rest: (nodes: readonly NodeInventory[]) => Pick<Inventory, "storage" | "conditions">;
  /** Why no whole picture can be made yet. */
  readonly waitingFor: () => string | undefined;
  readonly onInventory: (inventory: Inventory, changed: readonly string[]) => void;
}

export interface Assembly {
  /** This node may look different now. */
  touch(node: string): void;
  /** Something that concerns no single node may. */
  touchRest(): void;
  /** Everything may. */
  touchAll(): void;
  node(name: string): NodeInventory | undefined;
  /** The last whole picture. */
  readonly inventory: Inventory | undefined;
  close(): void;
}

export function createAssembly(deps: AssemblyDeps): Assembly {
  const { clock, nodeOf } = deps;
  const nodes = new Map<string, NodeInventory>();
  const touched = new Set<string>();
  let sorted: readonly string[] = [];
  let all = true;
  let inventory: Inventory | undefined;
  let timer: Timer | undefined;

  function soon(): void {
    timer ??= clock.timer(limits.inventoryGatherMs, () => {
      timer = undefined;
      assemble();
    });
  }

  function assemble(): void {
    if (deps.waitingFor() !== undefined) return;
    if (all) for (const name of [...deps.nodeNames(), ...nodes.keys()]) touched.add(name);
    const changed = [...touched];
    const known = nodes.size;
    let membersChanged = false;
    for (const name of changed) {
      const node = nodeOf(name);
      membersChanged ||= (node === undefined) === nodes.has(name);
      if (node) nodes.set(name, node);
      else nodes.delete(name);
    }
    if (membersChanged || known !== nodes.size) sorted = [...nodes.keys()].sort();
    touched.clear();
    all = false;
    const list = sorted.flatMap((name) => nodes.get(name) ?? []);
    inventory = { nodes: list, ...deps.rest(list), atMs: clock.now() };
    deps.onInventory(inventory, changed);
  }

  return {
    touch(node) {
      touched.add(node);
      soon();
    },
    touchRest: soon,
    touchAll() {
      all = true;
      soon();
    },
    node: (name) => nodes.get(name),
    get inventory() {
      return inventory;
    },
    close: () => timer?.cancel(),
  };
}
