/** Watches nodes, pods and volume limits, and folds changed nodes into snapshots; a burst of events makes one. */
import { kinds } from "../../kube/kinds.ts";
import type { WatchCache } from "../../kube/kube.ts";
import { sleep, type Timer } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import type { OperatorDeps } from "../operator-service.ts";
import { nodeInventory } from "./accounting/node-inventory.ts";
import { type ProjectedNode, projectNode, type VolumesByDriver, volumeLimits } from "./accounting/watched-node.ts";
import { allocationOf, projectPod, touchedNodes, type WatchedPod } from "./accounting/watched-pod.ts";
import { staleness, waitingFor } from "./conditions.ts";
import type { ConfigSource } from "./configuration/config-source.ts";
import { classesOnNode } from "./configuration/inventory-config.ts";
import { nameGpu } from "./gpu-names/registry.ts";
import type { RegistrySource } from "./gpu-names/registry-source.ts";
import type { Inventory, NodeInventory } from "./inventory.ts";
import type { DiscoveryPods } from "./nodes/discovery-pods.ts";
import type { UsageReadings } from "./nodes/usage-readings.ts";
import type { Storage } from "./storage/storage.ts";

/** Changes within this time make one snapshot: far below the 200 ms in which one has to be published. */
const inventoryGatherMs = 20;
const inventoryRecountMs = 5 * minute;
export const inventoryStaleCheckMs = 5 * second;

interface AssemblyDeps extends Omit<OperatorDeps, "random"> {
  readonly config: ConfigSource;
  readonly registry: RegistrySource;
  readonly storage: Storage;
  readonly usage: UsageReadings;
  readonly discovery: DiscoveryPods | undefined;
  /** Called with every new snapshot, and then with the nodes that may have changed in it. */
  readonly onInventory: (inventory: Inventory) => void;
  readonly onNodes: (names: readonly string[]) => void;
}

export class Assembly {
  inventory: Inventory | undefined;
  readonly counts = { snapshots: 0, drifts: 0 };
  readonly nodes: WatchCache<ProjectedNode>;
  readonly #pods: WatchCache<WatchedPod, "node" | "gt">;
  readonly #csiNodes: WatchCache<VolumesByDriver>;
  readonly #deps: AssemblyDeps;
  readonly #known = new Map<string, NodeInventory>();
  readonly #touched = new Set<string>();
  #sorted: readonly string[] = [];
  #all = true;
  #timer: Timer | undefined;

  constructor(deps: AssemblyDeps) {
    this.#deps = deps;
    const { kube, discovery } = deps;
    this.nodes = kube.watch({
      kind: kinds.node,
      project: projectNode,
      handle: ({ name }) => {
        this.touch(name);
        discovery?.add(name);
      },
    });
    this.#pods = kube.watch<WatchedPod, "node" | "gt">({
      kind: kinds.pod,
      project: projectPod,
      indexes: {
        node: ({ node }: WatchedPod) => node,
        gt: ({ gtSelected }: WatchedPod) => (gtSelected.length > 0 ? "any" : undefined),
      },
      handle: (change) => {
        for (const node of touchedNodes(change)) this.touch(node);
        // A `Gt` selector changes labels, and perhaps no sum.
        if (change.value.gtSelected.length > 0) this.touch();
      },
    });
    this.#csiNodes = kube.watch({
      kind: kinds.csiNode,
      project: volumeLimits,
      handle: ({ name }) => this.touch(name),
    });
  }

  /** Schedules a snapshot, and has this node folded for it. */
  touch(node?: string): void {
    if (node !== undefined) this.#touched.add(node);
    this.#timer ??= this.#deps.clock.timer(inventoryGatherMs, () => {
      this.#timer = undefined;
      if (this.waitingFor === undefined) this.#assemble();
    });
  }

  touchAll(): void {
    this.#all = true;
    this.touch();
  }

  node(name: string): NodeInventory | undefined {
    return this.#known.get(name);
  }

  get waitingFor(): string | undefined {
    const { config, storage, discovery } = this.#deps;
    if (!config.settled) return config.conditions[0]?.message ?? "the configuration";
    const waiting = waitingFor({ nodes: this.nodes, pods: this.#pods });
    if (waiting !== undefined) return waiting;
    if (!storage.ready) return "storage classes and volumes";
    // Else nodes would lose their GPUs' models at an upgrade of the operator.
    return (discovery?.settled ?? true) ? undefined : "the discovery pods that are there";
  }

  get ageMs(): number {
    return Math.max(this.nodes.ageMs, this.#pods.ageMs);
  }

  get podCount(): number {
    return this.#pods.size;
  }

  gtSelected(): ReadonlySet<string> {
    return new Set([...this.#pods.by("gt", "any")].flatMap((pod) => pod.gtSelected));
  }

  #assemble(): void {
    const { config, registry, storage, clock, log, onInventory, onNodes } = this.#deps;
    const changed = this.#refold();
    const nodes = this.#sorted.flatMap((name) => this.#known.get(name) ?? []);
    const { storage: classes, conditions } = storage.read(nodes, config.current);
    const { version } = this.#pods;
    this.inventory = {
      nodes,
      storage: classes,
      conditions: [...conditions, ...config.conditions, ...registry.conditions, ...this.#stale()],
      atMs: clock.now(),
      ...(version !== undefined && { podsVersion: version }),
      ...(storage.version !== undefined && { volumesVersion: storage.version }),
      ...(storage.defaultClass !== undefined && { defaultClass: storage.defaultClass }),
    };
    const offered = nodes.filter((node) => node.offered).length;
    const summary = { nodes: nodes.length, offered, classes: classes.length };
    if (this.counts.snapshots === 0) log.info("read the whole cluster", summary);
    this.counts.snapshots += 1;
    onInventory(this.inventory);
    onNodes(changed);
  }

  #refold(): readonly string[] {
    const known = this.#known;
    const all = this.#all ? [...Array.from(this.nodes.list(), ({ name }) => name), ...known.keys()] : [];
    const changed = new Set([...this.#touched, ...all]);
    let namesChanged = false;
    for (const name of changed) {
      const node = this.#fold(name);
      namesChanged ||= (node === undefined) === known.has(name);
      if (node) known.set(name, node);
      else known.delete(name);
    }
    if (namesChanged) this.#sorted = [...known.keys()].sort();
    this.#touched.clear();
    this.#all = false;
    return [...changed];
  }

  #fold(name: string): NodeInventory | undefined {
    const { config, registry, storage, usage, discovery } = this.#deps;
    const node = this.nodes.get({ name });
    if (!node) return undefined;
    const { hardware, atMs: hardwareAtMs, condition } = discovery?.about(name) ?? {};
    const storageClasses = classesOnNode(config.current, storage.classNames, name);
    return nodeInventory({
      node,
      allocation: allocationOf(this.#pods.by("node", name)),
      config: config.current,
      storageClasses,
      disk: storage.onDisk(name, storageClasses),
      namedGpus: hardware?.gpus.map((gpu) => nameGpu(registry.registry, gpu)) ?? [],
      volumeLimits: this.#csiNodes.get({ name }),
      hardware,
      hardwareAtMs,
      usage: usage.of(name),
      conditions: condition ? [condition] : [],
    });
  }

  #stale() {
    return staleness({ nodes: this.nodes, pods: this.#pods, "limits of volumes": this.#csiNodes });
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([this.nodes.synced(signal), this.#pods.synced(signal)]);
  }

  /** A change may have been missed. */
  readonly recount = async (signal: AbortSignal): Promise<never> => {
    const { clock, log } = this.#deps;
    for (;;) {
      await sleep(clock, inventoryRecountMs, signal);
      const wrong = [...this.#known.values()].filter((node) => this.#isWrong(node)).map(({ name }) => name);
      this.counts.drifts += wrong.length;
      if (wrong.length > 0) log.error("corrected the use of nodes that had drifted", { nodes: wrong });
      this.touchAll();
    }
  };

  /** Its sum is not that of its pods, and no change of it waits to be folded. */
  #isWrong(node: NodeInventory): boolean {
    const { sum } = allocationOf(this.#pods.by("node", node.name));
    const names = Object.keys(sum) as (keyof typeof sum)[];
    return !this.#touched.has(node.name) && names.some((name) => node[name].allocated !== sum[name]);
  }

  /** An interrupted watch brings no event. */
  readonly checkStaleness = async (signal: AbortSignal): Promise<never> => {
    for (let last = ""; ; ) {
      await sleep(this.#deps.clock, inventoryStaleCheckMs, signal);
      const now = [...this.#stale(), ...this.#deps.storage.stale].map(({ message }) => message).join();
      if (now !== last) this.touch();
      last = now;
    }
  };

  async close(): Promise<void> {
    this.#timer?.cancel();
    await Promise.all([this.nodes, this.#pods, this.#csiNodes].map((cache) => cache.close()));
  }
}
