/**
 * How soon a large cluster is known and how soon a change of it is published: a real API server, nodes and pods that KWOK
 * gives their statuses, and the inventory operator in a process of its own.
 */
import { kinds } from "../src/kube/kinds.ts";
import type { Kube } from "../src/kube/kube.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { openKube } from "../test/lab/open-kube.ts";
import { eventually } from "../test/support/eventually.ts";
import { createOwner } from "../test/support/owner.ts";
import { fewPods, makeNodes, makePods, nodeName, nodes, pods } from "./fake-cluster.ts";
import type { Report } from "./inventory-process.ts";
import { launch, nextMessage } from "./processes.ts";
import { percentile, report, round, size } from "./report.ts";

/** Pods that come one by one, each on a node of its own, and the pause between two. */
const events = size(300, 10);
const pauseMs = 40;
/** There is no baseline for times and memory, so their bars are absolute. */
const bars = { firstS: ["≤", 15], p99Ms: ["≤", 200], rssMb: ["≤", 200], cpuGrowth: ["≤", 1.5] } as const;

interface Run {
  readonly firstS: number;
  readonly latenciesMs: readonly number[];
  readonly cpuMsPerEvent: number;
  readonly peakMb: number;
}

export async function bench(kubeconfig: string): Promise<void> {
  await using owner = createOwner();
  const kube = openKube(owner, kubeconfig, { fieldManager: "bench" });
  await makeNodes(kube);
  await makePods(kube, fewPods);
  const few = await follow(kubeconfig, kube);
  await makePods(kube, pods);
  const many = await follow(kubeconfig, kube);

  const p99Ms = round(percentile(many.latenciesMs, 0.99), 1);
  const rows = [
    { what: `pods`, few: fewPods, many: pods },
    {
      what: "first complete snapshot, s from the start of the process",
      few: round(few.firstS),
      many: round(many.firstS),
    },
    {
      what: "a pod event is published, ms, median",
      few: round(percentile(few.latenciesMs, 0.5), 1),
      many: round(percentile(many.latenciesMs, 0.5), 1),
    },
    {
      what: "a pod event is published, ms, p99",
      few: round(percentile(few.latenciesMs, 0.99), 1),
      many: p99Ms,
    },
    { what: "cpu of one event, ms", few: round(few.cpuMsPerEvent), many: round(many.cpuMsPerEvent) },
    { what: "most memory, MB", few: round(few.peakMb, 1), many: round(many.peakMb, 1) },
  ];
  const line = {
    bench: "inventory",
    nodes,
    pods,
    firstS: round(many.firstS),
    p99Ms,
    rssMb: round(many.peakMb, 1),
    cpuGrowth: round(many.cpuMsPerEvent / few.cpuMsPerEvent),
  };
  report("inventory: a real API server with KWOK, the operator in a process of its own", rows, line, bars);
}

/** Starts the operator, waits until it is quiet, and then has pods come one by one. */
async function follow(kubeconfig: string, kube: Kube): Promise<Run> {
  const child = launch("inventory-process.ts", kubeconfig);
  /** When the operator first published a change of each node, after it was quiet. */
  const published = new Map<string, bigint>();
  child.on("message", (message: Report) => {
    if (message.what !== "published") return;
    for (const node of message.nodes) if (!published.has(node)) published.set(node, message.atNs);
  });
  const first = await nextMessage<Report, "first">(child, "first");
  if (first.nodes !== nodes) throw new Error(`the first snapshot had ${first.nodes} of ${nodes} nodes`);
  await nextMessage<Report, "quiet">(child, "quiet");
  const answered = new Map<string, bigint>();
  const writes: Promise<void>[] = [];
  const coming = Array.from({ length: events }, (_, event) => nodeName(event * Math.floor(nodes / events)));
  for (const node of coming) {
    writes.push(
      kube.create(kinds.pod, smallPod(node)).then(() => {
        answered.set(node, process.hrtime.bigint());
      }),
    );
    await sleep(realClock, pauseMs);
  }
  await Promise.all(writes);
  await eventually("every event", () => [...answered.keys()].every((node) => published.has(node)));
  child.send("cost");
  const { cpuMs, peakMb } = await nextMessage<Report, "cost">(child, "cost");
  for (const name of coming) await kube.delete(kinds.pod, { namespace: "default", name }, { graceSeconds: 0 });
  return {
    firstS: first.seconds,
    latenciesMs: [...answered].map(([node, atNs]) => Number((published.get(node) ?? 0n) - atNs) / 1e6),
    cpuMsPerEvent: cpuMs / events,
    peakMb,
  };
}

/** There is one on a node at most, so it has the node's name. */
function smallPod(node: string) {
  const resources = { requests: { cpu: "10m", memory: "16Mi" } };
  const containers = [{ name: "main", image: "registry.example/small:1", resources }];
  return { metadata: { namespace: "default", name: node }, spec: { nodeName: node, containers } };
}
