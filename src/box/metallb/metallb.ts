/**
 * MetalLB's controller, played: gives Services of type LoadBalancer addresses of its pools, by the rules in rules.ts. It works
 * through the API server like any client, so it serves the simulated cluster and a real one alike.
 */
import { createEventRecorder } from "../../kube/event-recorder.ts";
import { fieldsOf, recordsOf, textOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject, ObjectAt, PatchOperation } from "../../kube/kube.ts";
import {
  allocatedAnnotation,
  assignedAddresses,
  metalLbNamespace,
  metalLbWord,
  readPool,
  requestedAddress,
} from "../../kube/objects/metallb.ts";
import { readIpAddress } from "../../market/ip-range.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import { type AddressClaim, createAllocator, overlapOf } from "./allocator.ts";

interface MetalLbDeps {
  /** With a name of its own, "metallb-controller": no other field manager owns its fields. */
  readonly kube: Kube;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export type MetalLb = ReturnType<typeof createMetalLb>;

export function createMetalLb(deps: MetalLbDeps) {
  const { kube, log } = deps;
  const allocator = createAllocator();
  const events = createEventRecorder({ controller: "metallb-controller", instance: "metallb-controller" }, deps);
  /** One at a time: concurrent allocations could take the same address. */
  const queue = createQueue({ name: "metallb", work, concurrency: 1, ...deps });
  let services: ReturnType<typeof watchServices> | undefined;
  let pools: ReturnType<typeof watchPools> | undefined;
  let rejectedBecause: string | undefined;
  /** Pools were read; no Service is looked at before. */
  let isLoaded = false;

  function watchServices() {
    const look = ({ value }: { value: KubeObject }) => void queue.add(nameOf(value.metadata));
    return kube.watch({ kind: kinds.service, project: (object) => object, handle: look });
  }

  function watchPools() {
    const project = (object: KubeObject) => ({ object, pool: readPool(object) });
    const handle = () => void queue.add(poolsKey);
    return kube.watch({ kind: kinds.ipAddressPool, namespace: metalLbNamespace, project, handle });
  }

  async function work(key: string, signal: AbortSignal): Promise<Outcome> {
    await Promise.all([services?.synced(signal), pools?.synced(signal)]);
    if (key === poolsKey) await configure(signal);
    else if (isLoaded) await converge(key, signal);
    await updatePoolStatus(signal);
    return done();
  }

  async function configure(signal: AbortSignal): Promise<void> {
    const all = [...(pools?.list() ?? [])].map(({ pool }) => pool).sort((a, b) => (a.name < b.name ? -1 : 1));
    rejectedBecause = overlapOf(all);
    if (rejectedBecause !== undefined) {
      log.info("configuration rejected", { reason: rejectedBecause });
      return;
    }
    allocator.setPools(new Map(all.map((pool) => [pool.name, pool])));
    isLoaded = true;
    // Those that have an address come first, so that no other Service takes it; and nothing comes between.
    const balancers = [...(services?.list() ?? [])].filter(isBalancer);
    balancers.sort((a, b) => assignedAddresses(b).length - assignedAddresses(a).length);
    for (const { metadata } of balancers) await converge(nameOf(metadata), signal);
  }

  /** All are looked at again, in that order. */
  function reprocess(): void {
    queue.add(poolsKey);
  }

  async function converge(name: string, signal: AbortSignal): Promise<void> {
    // Read from the server: the cache may lack our own last write.
    const at = atOf(name);
    const live = services?.get(at) && (await kube.get(kinds.service, at, { signal }));
    const before = allocator.sharingOf(name);
    if (!live || !isBalancer(live)) {
      if (allocator.unassign(name)) reprocess();
      return;
    }
    const { address, why } = addressFor(live);
    const pool = address === undefined ? undefined : allocator.poolNameOf(name);
    if (why !== undefined) emit(live, "Warning", "AllocationFailed", `Failed to allocate IP for "${name}": ${why}`);
    const isNew = address !== undefined && !assignedAddresses(live).includes(address);
    if (isNew) emit(live, "Normal", "IPAllocated", `Assigned IP ["${address}"]`);
    await write(live, address, pool, signal);
    if (before !== allocator.sharingOf(name) && before !== "") reprocess();
  }

  function addressFor(service: KubeObject): { readonly address?: string; readonly why?: string } {
    const name = nameOf(service.metadata);
    const claim = claimOf(service);
    const { annotations } = service.metadata;
    const [pool, pinned] = [metalLbWord(annotations, "address-pool"), requestedAddress(service)];
    // An address of the other IP family does not count.
    const given = assignedAddresses(service).find((each) => readIpAddress(each)?.family === claim.family);
    // Without pools no Service has an address, and no event is emitted.
    if (!allocator.hasPools) return {};
    if (given !== undefined && (pinned === "" || pinned === given)) {
      const objection = allocator.assign(claim, given);
      if (objection === undefined && (pool === "" || allocator.poolNameOf(name) === pool)) return { address: given };
      const note = `current IP for "${name}" not allowed by config, will attempt for new IP assignment: ${objection}`;
      if (objection !== undefined) emit(service, "Normal", "ClearAssignment", note);
    }
    allocator.unassign(name);
    if (pinned === "") {
      const found = allocator.allocate(claim, pool);
      return "why" in found ? { why: found.why } : { address: found.address };
    }
    const address = readIpAddress(pinned);
    if (!address) return { why: `invalid spec.loadBalancerIP "${pinned}"` };
    if (address.family !== claim.family)
      return { why: `requested loadBalancer IP(s) ["${pinned}"] does not match the ipFamily of the service` };
    const why = allocator.assign(claim, pinned);
    if (why !== undefined) return { why };
    if (pool === "" || allocator.poolNameOf(name) === pool) return { address: pinned };
    allocator.unassign(name);
    return { why: `requested loadBalancer IP(s) ["${pinned}"] is not compatible with requested address pool ${pool}` };
  }

  async function write(
    service: KubeObject,
    address: string | undefined,
    pool: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const [had] = assignedAddresses(service);
    const { annotations = {} } = service.metadata;
    const isAnnotated = annotations[allocatedAnnotation] === pool;
    if (had === address && isAnnotated) return;
    const old = Object.keys(annotations).find((each) => each.startsWith("metallb.universe.tf/"));
    if (old !== undefined)
      emit(service, "Warning", "deprecatedAnnotation", `Service uses deprecated annotation ${old}`);
    const loadBalancer = address === undefined ? {} : { ingress: [{ ip: address, ipMode: "VIP" }] };
    const same: PatchOperation = { op: "test", path: "/metadata/uid", value: service.metadata.uid };
    try {
      if (had !== address) {
        const status: PatchOperation = { op: "add", path: "/status/loadBalancer", value: loadBalancer };
        await kube.patch(kinds.service, service.metadata, [same, status], { subresource: "status", signal });
      }
      if (!isAnnotated)
        await kube.patch(kinds.service, service.metadata, [same, ...poolPatch(annotations, pool)], {
          signal,
        });
    } catch (thrown) {
      // Deleted or replaced meanwhile: its watch event follows.
      if (!ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND") && !ProviderError.is(thrown, "AKP_KUBE_CONFLICT"))
        throw thrown;
    }
  }

  async function updatePoolStatus(signal: AbortSignal): Promise<void> {
    for (const { object } of pools?.list() ?? []) {
      const counters = allocator.countersOf(object.metadata.name);
      const status = fieldsOf(object["status"]);
      if (!counters || Object.entries(counters).every(([name, count]) => status[name] === count)) continue;
      const operations: PatchOperation[] = [{ op: "add", path: "/status", value: counters }];
      try {
        await kube.patch(kinds.ipAddressPool, object.metadata, operations, { subresource: "status", signal });
      } catch (thrown) {
        if (!ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND") && !ProviderError.is(thrown, "AKP_KUBE_CONFLICT"))
          throw thrown;
      }
    }
  }

  function emit(service: KubeObject, type: "Normal" | "Warning", reason: string, note: string): void {
    const { name, namespace = "", uid = "" } = service.metadata;
    events.record({
      regarding: { apiVersion: "v1", kind: "Service", name, namespace, uid },
      type,
      reason,
      action: "Allocate",
      note,
    });
  }

  return {
    queue,
    /** Why the configuration is not in force, if it is not. */
    get rejectedBecause(): string | undefined {
      return rejectedBecause;
    },
    /** As the controller's own page of metrics has it. */
    metrics(): string {
      const lines = [...(pools?.list() ?? [])].flatMap(({ pool: { name } }) => {
        const {
          assignedIPv4 = 0,
          assignedIPv6 = 0,
          availableIPv4 = 0,
          availableIPv6 = 0,
        } = allocator.countersOf(name) ?? {};
        const inUse = assignedIPv4 + assignedIPv6;
        return [
          `metallb_allocator_addresses_in_use_total{pool="${name}"} ${inUse}`,
          `metallb_allocator_addresses_total{pool="${name}"} ${inUse + availableIPv4 + availableIPv6}`,
        ];
      });
      return `${lines.join("\n")}\n`;
    },
    async run(signal: AbortSignal): Promise<void> {
      await showPod(kube);
      services = watchServices();
      pools = watchPools();
      // Also where there are none.
      queue.add(poolsKey);
      try {
        await Promise.all([queue.run(signal), events.run(signal)]);
      } finally {
        await Promise.all([services.close(), pools.close()]);
      }
    },
  };
}

/** The pod that the real controller would run in; no scheduler takes it. */
export async function showPod(kube: Kube): Promise<void> {
  const metadata = { name: "controller", namespace: metalLbNamespace, labels: { component: "controller" } };
  const spec = { schedulerName: "none", containers: [{ name: "controller", image: "metallb" }] };
  await kube.apply(kinds.pod, { metadata, spec });
  const conditions = [{ type: "Ready", status: "True" }];
  const ready: PatchOperation = { op: "add", path: "/status/conditions", value: conditions };
  await kube.patch(kinds.pod, metadata, [ready], { subresource: "status" });
}

/** No Service has this name: theirs have a slash. */
const poolsKey = "pools";

function nameOf({ namespace = "", name }: ObjectAt): string {
  return `${namespace}/${name}`;
}

function atOf(name: string): ObjectAt {
  const [namespace, service = ""] = name.split("/");
  return { namespace, name: service };
}

function isBalancer(service: KubeObject): boolean {
  const { type, loadBalancerClass } = fieldsOf(service["spec"]);
  return type === "LoadBalancer" && loadBalancerClass === undefined;
}

function claimOf(service: KubeObject): AddressClaim {
  const { ports, clusterIP, externalTrafficPolicy, selector } = fieldsOf(service["spec"]);
  return {
    service: nameOf(service.metadata),
    family: readIpAddress(textOf(clusterIP) ?? "")?.family ?? 4,
    ports: recordsOf(ports).map(({ protocol, port }) => `${protocol ?? "TCP"}/${port}`),
    sharingKey: metalLbWord(service.metadata.annotations, "allow-shared-ip"),
    backendKey: externalTrafficPolicy === "Local" ? JSON.stringify(selector ?? {}) : "",
  };
}

function poolPatch(annotations: Readonly<Record<string, string>>, pool: string | undefined): PatchOperation[] {
  const path = `/metadata/annotations/${allocatedAnnotation.replaceAll("/", "~1")}`;
  if (pool === undefined) return [{ op: "remove", path }];
  if (Object.keys(annotations).length === 0)
    return [{ op: "add", path: "/metadata/annotations", value: { [allocatedAnnotation]: pool } }];
  return [{ op: "add", path, value: pool }];
}
