/** What must be free in a simulated cluster, reckoned from its objects alone, and held against what a provider offers. */
import assert from "node:assert/strict";
import { requestsOf } from "../../src/box/cluster/components/scheduler/requests.ts";
import type { KubeNode } from "../../src/box/cluster/components/shapes/node.ts";
import { isActive, isFinished, type Pod } from "../../src/box/cluster/components/shapes/pod.ts";
import type { Claim, PersistentVolume } from "../../src/box/cluster/components/shapes/storage.ts";
import type { CapacityKeeper } from "../../src/cluster/capacity/capacity-keeper.ts";
import type { CapacityHolding } from "../../src/cluster/capacity/reservations/accounting.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { parseBytes, parseCpuMilli } from "../../src/market/quantity.ts";
import { readSdl, type Sdl } from "../../src/market/sdl/sdl.ts";
import { storageClass } from "./stages/capacity-stage.ts";
import { bidOf, orderKey } from "./stages/reservation-stage.ts";

const mi = 1024n ** 2n;
const gi = 1024n ** 3n;
/** One replica, in the order of a machine's resources. */
const page = { cpuMilli: 700n, memoryBytes: 512n * mi, ephemeralBytes: gi, volumeBytes: 0n };
const store = { cpuMilli: 500n, memoryBytes: gi + 64n * mi, ephemeralBytes: 2n * gi, volumeBytes: 5n * gi };
type Amounts = typeof page;
const nothing: Amounts = { cpuMilli: 0n, memoryBytes: 0n, ephemeralBytes: 0n, volumeBytes: 0n };

/** How many of each service: pages and apis share a unit, stores and caches another. */
export interface Wish {
  readonly pages: number;
  readonly apis: number;
  readonly stores: number;
  readonly caches: number;
}

export function adjustable({ pages, apis, stores, caches }: Wish, image = "web:1"): Sdl {
  const counts = { page: pages, api: apis, ...(stores + caches > 0 && { store: stores, cache: caches }) };
  const mounts = { storage: { data: { mount: "/data" }, shm: { mount: "/dev/shm" } } };
  const profileOf = (name: string) => (name === "page" || name === "api" ? "page" : "store");
  const services = Object.fromEntries(
    Object.keys(counts).map((name) => [
      name,
      {
        image,
        expose: [{ port: 8080, to: [name === "page" ? { global: true } : { service: "page" }] }],
        ...(profileOf(name) === "store" && { params: mounts }),
      },
    ]),
  );
  const compute = {
    page: { resources: { cpu: { units: "700m" }, memory: { size: "512Mi" }, storage: [{ size: "1Gi" }] } },
    store: {
      resources: {
        cpu: { units: "500m" },
        memory: { size: "1Gi" },
        storage: [
          { size: "2Gi" },
          { name: "data", size: "5Gi", attributes: { persistent: true, class: storageClass } },
          { name: "shm", size: "64Mi", attributes: { class: "ram" } },
        ],
      },
    },
  };
  const price = { denom: "uact", amount: 1_000 };
  // An SDL has at least one of each; a manifest may shift all of them.
  const deployment = Object.fromEntries(
    Object.keys(counts).map((name) => [name, { box: { profile: profileOf(name), count: 1 } }]),
  );
  const profiles = {
    compute: stores + caches > 0 ? compute : { page: compute.page },
    placement: { box: { pricing: { page: price, ...(stores + caches > 0 && { store: price }) } } },
  };
  const read = readSdl(JSON.stringify({ version: "2.1", services, profiles, deployment }));
  const countOf = (name: string) => counts[name as keyof typeof counts] ?? 0;
  const [first] = read.groups;
  assert.ok(first);
  const units = first.units.map((unit) => ({
    ...unit,
    count: unit.storage.length > 1 ? stores + caches : pages + apis,
  }));
  return {
    ...read,
    groups: [{ ...first, units }],
    manifest: read.manifest.map((group) => ({
      ...group,
      services: group.services.map((service) => ({ ...service, count: countOf(service.name) })),
    })),
  };
}

interface Promised {
  readonly dseq: number;
  wish: Wish;
  /** Once it is won. */
  lease: LeaseId | undefined;
}

interface LedgerDeps {
  /** All objects of a kind, as they are now. */
  readonly objects: (kind: Kind) => readonly KubeObject[];
  readonly keeper: () => CapacityKeeper;
}

export type Ledger = ReturnType<typeof createLedger>;

export function createLedger({ objects, keeper }: LedgerDeps) {
  const promises = new Map<number, Promised>();
  let dseqs = 0;
  const list = <T>(kind: Kind, namespace?: string) =>
    objects(kind).filter(
      ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
    ) as unknown as readonly T[];

  /** What a replica without a pod of its own is kept for, of all promises together. */
  function expectedHeld(): Amounts {
    let sum = nothing;
    for (const { dseq, wish } of promises.values()) {
      const namespace = leaseNamespace(bidOf(orderKey(dseq)));
      const bound = list<Pod>(kinds.pod, namespace).filter((pod) => isActive(pod) && pod.spec.nodeName !== undefined);
      const stores = bound.filter(usesVolume).length;
      sum = plus(sum, page, BigInt(Math.max(0, wish.pages + wish.apis - (bound.length - stores))));
      sum = plus(sum, { ...store, volumeBytes: 0n }, BigInt(Math.max(0, wish.stores + wish.caches - stores)));
      const wanted = BigInt(wish.stores + wish.caches) * store.volumeBytes;
      const made = list<Claim>(kinds.persistentVolumeClaim, namespace)
        .filter(({ status }) => status?.phase === "Bound")
        .reduce((all, { status }) => all + bytesOf(status?.capacity), 0n);
      if (wanted > made) sum = { ...sum, volumeBytes: sum.volumeBytes + wanted - made };
    }
    return sum;
  }

  /** By machine that is for sale: what its pods leave of it. */
  function expectedFree(): Map<string, Amounts> {
    const volumes = list<PersistentVolume>(kinds.persistentVolume);
    const pods = list<Pod>(kinds.pod).filter((pod) => !isFinished(pod));
    return new Map(
      list<KubeNode>(kinds.node)
        .filter(isForSale)
        .map((node) => {
          const { name } = node.metadata;
          const has = node.status?.allocatable;
          let left = {
            cpuMilli: parseCpuMilli(String(has?.["cpu"])),
            memoryBytes: parseBytes(String(has?.["memory"])),
            ephemeralBytes: parseBytes(String(has?.["ephemeral-storage"])),
            volumeBytes: 0n,
          };
          for (const pod of pods) if (pod.spec.nodeName === name) left = plus(left, takenBy(pod), -1n);
          const folders = volumes.filter((volume) =>
            JSON.stringify(volume.spec.nodeAffinity ?? {}).includes(`["${name}"]`),
          );
          const onDisk = folders.reduce((all, { spec }) => all + bytesOf(spec.capacity), 0n);
          // Pods and volumes draw from one disk, and are offered half of it each.
          const half = (left.ephemeralBytes - onDisk) / 2n;
          return [name, { ...left, ephemeralBytes: half, volumeBytes: half }];
        }),
    );
  }

  /** By machine, where it is one of those for sale. */
  function heldOn(held: Iterable<CapacityHolding>): Map<string, Amounts> {
    const sums = new Map<string, Amounts>();
    for (const { claim } of held) sums.set(claim.node, plus(sums.get(claim.node) ?? nothing, amountsOf(claim), 1n));
    return sums;
  }

  return {
    nextDseq: () => ++dseqs,
    promised: (dseq: number, wish: Wish) => void promises.set(dseq, { dseq, wish, lease: undefined }),
    over: (dseq: number) => void promises.delete(dseq),
    bids: () => [...promises.values()].filter(({ lease }) => lease === undefined),
    leases: () => [...promises.values()].filter(({ lease }) => lease !== undefined),
    machines: () => list<KubeNode>(kinds.node).map(({ metadata }) => metadata.name),
    /** On machines that are well. */
    runningPods() {
      const machines = list<KubeNode>(kinds.node).filter(isForSale);
      const isOnOne = ({ spec }: Pod) => machines.some(({ metadata }) => metadata.name === spec.nodeName);
      return list<Pod>(kinds.pod).filter((pod) => pod.status?.phase === "Running" && isActive(pod) && isOnOne(pod));
    },

    /** Throws where anything is sold twice or lost. */
    audit(): void {
      const { book, inventory } = keeper();
      const { room } = book;
      assert.equal(inventory.error, undefined);
      const held = heldOn(book.held);
      const heldInAll = [...held.values()].reduce((sum, each) => plus(sum, each, 1n), nothing);
      assert.deepEqual(heldInAll, expectedHeld(), "what is held is what is promised and has no pod");
      const free = expectedFree();
      assert.deepEqual(
        room.nodes.map(({ name }) => name),
        [...free.keys()].sort(),
        "the machines that are offered are those that are for sale",
      );
      let volumes = 0n;
      for (const [name, left] of free) {
        const kept = held.get(name) ?? nothing;
        const [cpuMilli, memoryBytes, ephemeralBytes] = room.node(name)?.free ?? [];
        volumes += left.volumeBytes;
        assert.deepEqual(
          { cpuMilli, memoryBytes, ephemeralBytes },
          {
            cpuMilli: left.cpuMilli - kept.cpuMilli,
            memoryBytes: left.memoryBytes - kept.memoryBytes,
            ephemeralBytes: left.ephemeralBytes - kept.ephemeralBytes,
          },
          `machine ${name}`,
        );
      }
      assert.equal(room.classes.get(storageClass), volumes - heldInAll.volumeBytes, "the storage class");
      for (const { claim } of book.held) {
        if (claim.amounts.length === 0 || room.node(claim.node)?.free.every((amount) => amount >= 0n)) continue;
        const place = room.nodes.find(({ free }) => claim.amounts.every((amount, at) => amount <= (free[at] ?? 0n)));
        assert.equal(place?.name, undefined, `a promise on "${claim.node}" would have room elsewhere`);
      }
      for (const { dseq, lease } of promises.values()) {
        assert.ok(book.get(orderKey(dseq)), "what is promised is in the book");
        const isThere = (name: string) => objects(kinds.namespace).some(({ metadata }) => metadata.name === name);
        if (lease) assert.ok(isThere(leaseNamespace(lease)), "the lease stays");
      }
      assert.equal(book.size, promises.size);
    },
  };
}

function plus(sum: Amounts, each: Amounts, times: bigint): Amounts {
  return {
    cpuMilli: sum.cpuMilli + times * each.cpuMilli,
    memoryBytes: sum.memoryBytes + times * each.memoryBytes,
    ephemeralBytes: sum.ephemeralBytes + times * each.ephemeralBytes,
    volumeBytes: sum.volumeBytes + times * each.volumeBytes,
  };
}

function amountsOf({
  amounts: [cpuMilli = 0n, memoryBytes = 0n, ephemeralBytes = 0n],
  classes,
}: CapacityHolding["claim"]) {
  return { cpuMilli, memoryBytes, ephemeralBytes, volumeBytes: classes.get(storageClass) ?? 0n };
}

/** As the scheduler counts, with the memory that its file systems may fill. */
function takenBy(pod: Pod): Amounts {
  const requests = requestsOf(pod);
  const [cpuMilli = 0n, memory = 0n, ephemeralBytes = 0n] = ["cpu", "memory", "ephemeral-storage"].map((name) =>
    requests.get(name),
  );
  const inRam = (pod.spec.volumes ?? []).flatMap(({ emptyDir }) => {
    const { medium, sizeLimit } = (emptyDir ?? {}) as { medium?: string; sizeLimit?: string };
    return medium === "Memory" ? [parseBytes(String(sizeLimit))] : [];
  });
  return { cpuMilli, memoryBytes: inRam.reduce((sum, each) => sum + each, memory), ephemeralBytes, volumeBytes: 0n };
}

function usesVolume({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined);
}

function bytesOf(amounts: Readonly<Record<string, string | number>> | undefined): bigint {
  return parseBytes(String(amounts?.["storage"] ?? "0"));
}

function isForSale({ spec: { unschedulable, taints = [] }, status }: KubeNode): boolean {
  const is = (type: string) => status?.conditions?.find((each) => each.type === type)?.status === "True";
  return !unschedulable && taints.length === 0 && is("Ready") && !is("MemoryPressure");
}
