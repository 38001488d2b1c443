/**
 * Puts the picture together: watches nodes, pods and the limits of volumes, and folds one node at a time. What changed is
 * noted at once and folded a moment later, so that a burst of events costs one picture; a node that nothing happened to
 * is taken over as it was.
 */

import { kinds } from "../../kube/kinds.ts";
import { sleep, type Timer } from "../../runtime/clock.ts";
import type { Condition } from "../../runtime/condition.ts";
import { minute, second } from "../../runtime/durations.ts";
import type { OperatorGround } from "../ground.ts";
import { createAllocations } from "./accounting/allocations.ts";
import { nodeInventory } from "./accounting/node-inventory.ts";
import { projectNode, volumeLimits } from "./accounting/watched-node.ts";
import { projectPod } from "./accounting/watched-pod.ts";
import type { ConfigSource } from "./configuration/config-source.ts";
import { classesOnNode } from "./configuration/inventory-config.ts";
import { nameCard } from "./gpu-names/market-name.ts";
import type { RegistrySource } from "./gpu-names/registry-source.ts";
import type { Inventory, NodeInventory } from "./inventory.ts";
import type { DiscoveryPods } from "./nodes/discovery-pods.ts";
import type { UsageReadings } from "./nodes/usage-readings.ts";
import { staleness } from "./staleness.ts";
import type { Storage } from "./storage/storage.ts";

/** Events of this long become one picture: far below the 200 ms in which one has to be published. */
const inventoryGatherMs = 20;
/** Counting ten thousand pods anew takes milliseconds; a drift should not live for long. */
const inventoryRecountMs = 5 * minute;
/** How soon a picture shows that it may be out of date. */
export const inventoryStaleLookMs = 5 * second;

interface AssemblyDeps extends Omit<OperatorGround, "random"> {
  readonly config: ConfigSource;
  readonly registry: RegistrySource;
  readonly storage: Storage;
  readonly usage: UsageReadings;
  readonly discovery: DiscoveryPods | undefined;
  /** Told of every new picture, and then of the nodes that may look different in it. */
  readonly onInventory: (inventory: Inventory) => void;
  readonly onNodes: (names: readonly string[]) => void;
}

export function createAssembly(deps: AssemblyDeps) {
  const { kube, clock, log, config, registry, storage, usage, discovery } = deps;
  const allocations = createAllocations();
  const known = new Map<string, NodeInventory>();
  const touched = new Set<string>();
  let sorted: readonly string[] = [];
  let all = true;
  let inventory: Inventory | undefined;
  let pictures = 0;
  let timer: Timer | undefined;

  const nodes = kube.watch({
    kind: kinds.node,
    project: projectNode,
    handle({ name }) {
      touch(name);
      discovery?.add(name);
    },
  });
  const pods = kube.watch({
    kind: kinds.pod,
    project: projectPod,
    handle({ type, value }) {
      for (const node of type === "deleted" ? allocations.gone(value.uid) : allocations.seen(value)) touch(node);
      // Whoever selects a label with Gt changes labels, and perhaps no sum at all.
      if (value.gtSelected.length > 0) soon();
    },
  });
  const csiNodes = kube.watch({ kind: kinds.csiNode, project: volumeLimits, handle: ({ name }) => touch(name) });

  function touch(node: string): void {
    touched.add(node);
    soon();
  }

  function soon(): void {
    timer ??= clock.timer(inventoryGatherMs, () => {
      timer = undefined;
      if (waitingFor() === undefined) assemble();
    });
  }

  function waitingFor(): string | undefined {
    if (!config.settled) return config.conditions[0]?.message ?? "the configuration";
    for (const [what, { ready, trouble }] of Object.entries({ nodes, pods })) {
      if (!ready) return trouble ? `${what}: ${trouble.message}` : what;
    }
    if (!storage.ready) return "storage classes and volumes";
    // Else whoever listens would see nodes lose their gpus' models whenever the operator is upgraded.
    return (discovery?.settled ?? true) ? undefined : "the discovery pods that are there";
  }

  function assemble(): void {
    if (all) for (const name of [...Array.from(nodes.list(), (node) => node.name), ...known.keys()]) touched.add(name);
    const changed = [...touched];
    let namesChanged = false;
    for (const name of changed) {
      const node = fold(name);
      namesChanged ||= (node === undefined) === known.has(name);
      if (node) known.set(name, node);
      else known.delete(name);
    }
    if (namesChanged) sorted = [...known.keys()].sort();
    touched.clear();
    all = false;
    const list = sorted.flatMap((name) => known.get(name) ?? []);
    const { storage: classes, conditions } = storage.read(list, config.current);
    inventory = {
      nodes: list,
      storage: classes,
      conditions: [...conditions, ...config.conditions, ...registry.conditions, ...stale()],
      atMs: clock.now(),
      ...(pods.version !== undefined && { podsVersion: pods.version }),
      ...(storage.version !== undefined && { volumesVersion: storage.version }),
      ...(storage.defaultClass !== undefined && { defaultClass: storage.defaultClass }),
    };
    pictures += 1;
    if (pictures === 1) log.info("read the whole cluster", summary(inventory));
    deps.onInventory(inventory);
    deps.onNodes(changed);
  }

  function fold(name: string): NodeInventory | undefined {
    const node = nodes.get({ name });
    if (!node) return undefined;
    const { hardware, atMs: hardwareAtMs, condition } = discovery?.about(name) ?? {};
    const storageClasses = classesOnNode(config.current, storage.classNames, name);
    return nodeInventory({
      node,
      allocation: allocations.ofNode(name),
      config: config.current,
      storageClasses,
      disk: storage.onDisk(name, storageClasses),
      namedGpus: hardware?.gpus.map((card) => nameCard(registry.registry, card)) ?? [],
      volumeLimits: csiNodes.get({ name }),
      hardware,
      hardwareAtMs,
      usage: usage.of(name),
      conditions: condition ? [condition] : [],
    });
  }

  function stale(): Condition[] {
    return staleness({ nodes, pods, "limits of volumes": csiNodes });
  }

  function touchAll(): void {
    all = true;
    soon();
  }

  return {
    nodes,
    /** This node may look different now. */
    touch,
    /** Something that concerns no single node may. */
    touchRest: soon,
    /** Everything may. */
    touchAll,
    node: (name: string) => known.get(name),
    /** The last whole picture. */
    get inventory() {
      return inventory;
    },
    /** Why no whole picture can be made yet. */
    get waitingFor() {
      return waitingFor();
    },
    /** How long ago the cluster was last heard of. */
    get ageMs() {
      return Math.max(nodes.ageMs, pods.ageMs);
    },
    gtSelected: allocations.gtSelected,
    async synced(signal: AbortSignal): Promise<void> {
      await Promise.all([nodes.synced(signal), pods.synced(signal)]);
    },
    /** Counts all pods anew from time to time. */
    async recount(signal: AbortSignal): Promise<never> {
      for (;;) {
        await sleep(clock, inventoryRecountMs, signal);
        const wrong = allocations.recompute(pods.list());
        if (wrong.length > 0) log.error("corrected the use of nodes that had drifted", { nodes: wrong });
        // Also what depends on time alone, like a memory that fades, is looked at again.
        touchAll();
      }
    },
    /** Looks whether the caches are out of date: a watch that is interrupted brings no event that would tell of it. */
    async lookForStaleness(signal: AbortSignal): Promise<never> {
      for (let told = ""; ; ) {
        await sleep(clock, inventoryStaleLookMs, signal);
        const now = [...stale(), ...storage.stale].map(({ message }) => message).join();
        if (now !== told) soon();
        told = now;
      }
    },
    get counts() {
      return { pictures, allocations: allocations.counts };
    },
    async close(): Promise<void> {
      timer?.cancel();
      await Promise.all([nodes.close(), pods.close(), csiNodes.close()]);
    },
  };
}

function summary({ nodes, storage }: Inventory) {
  return { nodes: nodes.length, offered: nodes.filter(({ offered }) => offered).length, classes: storage.length };
}
