/**
 * The process that the watch benchmark measures: nothing but our client and its caches of nodes and pods, with what the
 * inventory needs of them. `node bench/watch-process.ts KUBECONFIG pods NAMESPACE`, or `all`; it reports its measurements to
 * its parent.
 */
import { once } from "node:events";
import { createHttpKube } from "../src/kube/http/http-kube.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { Change, KubeObject } from "../src/kube/kube.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { serveParent } from "./processes.ts";
import { cpuMs } from "./report.ts";

/** The list of pods alone, and what its cache takes of the heap. */
export interface PodsRead {
  readonly seconds: number;
  /** The part of it that this process was at work. */
  readonly cpuSeconds: number;
  readonly heapMb: number;
}

/** Both lists, from the start of the process. */
interface AllRead {
  readonly nodes: number;
  readonly pods: number;
  readonly seconds: number;
}

/** A version of a pod that reached its handler, by the clock that all processes of a machine share. */
interface Seen {
  readonly version: string;
  readonly atNs: bigint;
}

/** The most memory that the process ever had. */
interface Memory {
  readonly peakMb: number;
}

export type Report =
  | ({ readonly what: "read" } & PodsRead)
  | ({ readonly what: "all" } & AllRead)
  | ({ readonly what: "seen" } & Seen)
  | ({ readonly what: "memory" } & Memory);

const sendReport = serveParent<never, Report>();
const [kubeconfig = "", what, namespace] = process.argv.slice(2);
const deps = { clock: realClock, random: realRandom, log: silentLog };
const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);

if (what === "pods") await readPods();
else await readAll();

async function readPods(): Promise<void> {
  // The connection is made, and the code compiled, by something else.
  const warm = kube.watch({ kind: kinds.node, project: projectNode });
  await warm.synced();
  await warm.close();
  const { heldBytes, ...times } = await holdPods();
  sendReport({ what: "read", ...times, heapMb: (heldBytes - (await heapBytes())) / 2 ** 20 });
  await kube.close();
  process.disconnect();
}

/** Size of the heap while the cache is reachable; afterwards nothing refers to the cache any more. */
async function holdPods() {
  const startedMs = performance.now();
  const usedBeforeMs = cpuMs();
  const cache = kube.watch({ kind: kinds.pod, namespace, project: projectPod });
  await cache.synced();
  const seconds = (performance.now() - startedMs) / 1_000;
  const cpuSeconds = (cpuMs() - usedBeforeMs) / 1_000;
  const heldBytes = await heapBytes();
  await cache.close();
  return { seconds, cpuSeconds, heldBytes };
}

async function readAll(): Promise<void> {
  const handle = ({ type, value: { version } }: Change<KeptPod>) => {
    if (type === "modified" && version !== undefined)
      sendReport({ what: "seen", version, atNs: process.hrtime.bigint() });
  };
  const nodes = kube.watch({ kind: kinds.node, project: projectNode });
  const pods = kube.watch({ kind: kinds.pod, project: projectPod, handle });
  await Promise.all([nodes.synced(), pods.synced()]);
  sendReport({ what: "all", nodes: nodes.size, pods: pods.size, seconds: performance.now() / 1_000 });
  await once(process, "message");
  sendReport({ what: "memory", peakMb: process.resourceUsage().maxRSS / 1_024 });
  await kube.close();
  process.disconnect();
}

/** Twice, with a breath in between: what was just let go of is only free the second time. */
async function heapBytes(): Promise<number> {
  globalThis.gc?.();
  await realClock.yield();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function projectNode({ metadata, spec, status }: KubeObject): object {
  const { taints, unschedulable } = (spec ?? {}) as Record<string, unknown>;
  const {
    allocatable,
    capacity,
    conditions = [],
  } = (status ?? {}) as {
    allocatable?: object;
    capacity?: object;
    conditions?: { type: string; status: string }[];
  };
  const holding = conditions.filter((each) => each.status === "True").map(({ type }) => type);
  return { name: metadata.name, labels: metadata.labels, taints, unschedulable, allocatable, capacity, holding };
}

interface KeptPod {
  readonly uid: string | undefined;
  readonly version: string | undefined;
  readonly nodeName: string | undefined;
  readonly phase: string | undefined;
  /** Of each container. */
  readonly requests: readonly (Readonly<Record<string, string>> | undefined)[];
}

function projectPod({ metadata, spec, status }: KubeObject): KeptPod {
  const { nodeName, containers = [] } = (spec ?? {}) as {
    nodeName?: string;
    containers?: { resources?: { requests?: Record<string, string> } }[];
  };
  const { phase } = (status ?? {}) as { phase?: string };
  const { uid, resourceVersion: version } = metadata;
  return { uid, version, nodeName, phase, requests: containers.map(({ resources }) => resources?.requests) };
}
