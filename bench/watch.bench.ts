/**
 * How a large cluster is read and followed: a real API server, nodes and pods that KWOK gives their statuses, and our client
 * in a process of its own, so that the memory is its alone.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { kinds } from "../src/kube/kinds.ts";
import type { Kube } from "../src/kube/kube.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { openKube } from "../test/lab/open-kube.ts";
import { eventually } from "../test/support/eventually.ts";
import { createOwner } from "../test/support/owner.ts";
import { fewNamespace, fewPods, makeNodes, makePods, nodes, podName, pods } from "./fake-cluster.ts";
import { launch, nextMessage } from "./processes.ts";
import { median, percentile, report, round, size } from "./report.ts";
import type { PodsRead, Report } from "./watch-process.ts";

/** So often each is read, in turn, so that a busy machine slows both alike; the median of them counts. */
const readings = size(3, 1);
/** Changes whose way to the handler is timed, and how many come in a second. */
const changes = size(1_000, 30);
const changesPerSecond = 100;
/** There is no baseline for times and memory, so their bars are absolute. */
const bars = { listS: ["≤", 10], p99Ms: ["≤", 100], rssMb: ["≤", 150], growth: ["≤", 12] } as const;

export async function bench(kubeconfig: string): Promise<void> {
  await using owner = createOwner();
  const kube = openKube(owner, kubeconfig, { fieldManager: "bench" });
  await timed(`${nodes} nodes made`, makeNodes(kube));
  await timed(`${pods} pods made`, makePods(kube, pods));
  const { few, all: many } = await timed("pods read", readPods(kubeconfig));
  const { all, latenciesMs, peakMb } = await timed("changes followed", readAll(kubeconfig, kube));

  // The time is what our process worked: by the wall clock it would show what else the machine has to do. The memory is
  // the heap that the cache keeps: the process itself is as large with no pods at all, and would hide growth.
  const growth = Math.max(many.cpuSeconds / few.cpuSeconds, many.heapMb / few.heapMb);
  const p99Ms = round(percentile(latenciesMs, 0.99), 1);
  const rows = [
    { what: `read ${fewPods} pods`, ...rowOf(few) },
    { what: `read ${all.pods} pods`, ...rowOf(many) },
    { what: `read ${all.nodes} nodes and ${all.pods} pods from the start of the process`, seconds: round(all.seconds) },
    {
      what: `a change reaches its handler, median of ${changes}`,
      seconds: round(percentile(latenciesMs, 0.5) / 1_000, 4),
    },
    { what: "a change reaches its handler, p99", seconds: round(p99Ms / 1_000, 4) },
  ];
  const line = {
    bench: "watch",
    nodes: all.nodes,
    pods: all.pods,
    listS: round(all.seconds),
    p99Ms,
    rssMb: round(peakMb, 1),
    growth: round(growth),
  };
  report("watch: a real API server with KWOK, our client in a process of its own", rows, line, bars);
}

function rowOf({ seconds, cpuSeconds, heapMb }: PodsRead): object {
  return { seconds: round(seconds, 3), "cpu seconds": round(cpuSeconds, 3), "cache MB": round(heapMb, 2) };
}

/** It takes minutes, and most of them are KWOK's and the API server's. */
async function timed<T>(what: string, work: Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await work;
  console.log(`${what} in ${round((performance.now() - startedMs) / 1_000, 1)} s`);
  return result;
}

async function readPods(kubeconfig: string): Promise<{ few: PodsRead; all: PodsRead }> {
  const few: PodsRead[] = [];
  const all: PodsRead[] = [];
  for (let reading = 0; reading < readings; reading += 1) {
    few.push(await readOnce(kubeconfig, [fewNamespace]));
    all.push(await readOnce(kubeconfig, []));
  }
  return { few: medianOf(few), all: medianOf(all) };
}

async function readOnce(kubeconfig: string, namespace: string[]): Promise<PodsRead> {
  const child = launch("watch-process.ts", kubeconfig, "pods", ...namespace);
  const read = await nextMessage<Report, "read">(child, "read");
  await once(child, "exit");
  return read;
}

function medianOf(reads: readonly PodsRead[]): PodsRead {
  const middle = (field: keyof PodsRead) => median(reads.map((read) => read[field]));
  return { seconds: middle("seconds"), cpuSeconds: middle("cpuSeconds"), heapMb: middle("heapMb") };
}

async function readAll(kubeconfig: string, kube: Kube) {
  const child = launch("watch-process.ts", kubeconfig, "all");
  const all = await nextMessage<Report, "all">(child, "all");
  const latenciesMs = await timeChanges(child, kube);
  child.send("memory");
  const { peakMb } = await nextMessage<Report, "memory">(child, "memory");
  await once(child, "exit");
  return { all, latenciesMs, peakMb };
}

/** From the writer's answer to the handler; a change that the handler saw before the writer's answer took no time. */
async function timeChanges(child: ChildProcess, kube: Kube): Promise<number[]> {
  const answered = new Map<string, bigint>();
  const seen = new Map<string, bigint>();
  const note = (message: Report) => message.what === "seen" && seen.set(message.version, message.atNs);
  child.on("message", note);
  const writes: Promise<void>[] = [];
  for (let change = 0; change < changes; change += 1) {
    const at = { namespace: "default", name: podName(fewPods + change) };
    const changed = [{ op: "add", path: "/status/message", value: "changed" }] as const;
    writes.push(
      kube.patch(kinds.pod, at, changed, { subresource: "status" }).then(({ metadata }) => {
        answered.set(metadata.resourceVersion ?? "", process.hrtime.bigint());
      }),
    );
    await sleep(realClock, 1_000 / changesPerSecond);
  }
  await Promise.all(writes);
  await eventually("every change", () => [...answered.keys()].every((version) => seen.has(version)));
  child.off("message", note);
  return [...answered].map(([version, atNs]) => Math.max(0, Number((seen.get(version) ?? 0n) - atNs) / 1e6));
}
