/**
 * How soon a large cluster is known and how soon a change of it is published: a real API server, 1,000 nodes and 10,000
 * pods that KWOK gives their statuses, and the inventory operator in a process of its own.
 */
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { kinds } from "../src/kube/kinds.ts";
import type { Kube } from "../src/kube/kube.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { eventually } from "../test/eventually.ts";
import { openKube } from "../test/lab/open-kube.ts";
import { createOwner } from "../test/owner.ts";
import { fewPods, makeNodes, makePods, nodeName, nodes, pods } from "./fake-cluster.ts";
import type { Told } from "./inventory-process.ts";
import { nodeFlags } from "./node-flags.ts";
import { percentile } from "./percentile.ts";
import { report, round } from "./report.ts";

/** Pods that come one by one, each on a node of its own, and the pause between two. */
const events = 300;
const pauseMs = 40;

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
    { what: "first whole picture, s from the start of the process", few: round(few.firstS), many: round(many.firstS) },
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
  report("inventory: a real API server with KWOK, the operator in a process of its own", rows, {
    bench: "inventory",
    nodes,
    pods,
    firstS: round(many.firstS),
    p99Ms,
    rssMb: round(many.peakMb, 1),
    cpuGrowth: round(many.cpuMsPerEvent / few.cpuMsPerEvent),
  });
}

/** Starts the operator, waits until it is quiet, and then has pods come one by one. */
async function follow(kubeconfig: string, kube: Kube): Promise<Run> {
  const program = join(import.meta.dirname, "inventory-process.ts");
  const child = fork(program, [kubeconfig], { execArgv: nodeFlags, serialization: "advanced" });
  const messages = messagesOf(child);
  const first = await messages.next("first");
  if (first.nodes !== nodes) throw new Error(`the first picture had ${first.nodes} of ${nodes} nodes`);
  await messages.next("quiet");
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
  await eventually("every event", () => [...answered.keys()].every((node) => messages.published.has(node)));
  child.send("cost");
  const { cpuMs, peakMb } = await messages.next("cost");
  for (const name of coming) await kube.delete(kinds.pod, { namespace: "default", name }, { graceSeconds: 0 });
  return {
    firstS: first.seconds,
    latenciesMs: [...answered].map(([node, atNs]) => Number((messages.published.get(node) ?? 0n) - atNs) / 1e6),
    cpuMsPerEvent: cpuMs / events,
    peakMb,
  };
}

type Message<What extends Told["what"]> = Extract<Told, { readonly what: What }>;

/** `published` holds when each node was first told to look different, after the operator was quiet. */
function messagesOf(child: ChildProcess) {
  const published = new Map<string, bigint>();
  const arrived = new Map<string, Told>();
  child.on("message", (message: Told) => {
    if (message.what !== "published") arrived.set(message.what, message);
    else for (const node of message.nodes) if (!published.has(node)) published.set(node, message.atNs);
  });
  return {
    published: published as ReadonlyMap<string, bigint>,
    next: <What extends Told["what"]>(what: What): Promise<Message<What>> =>
      eventually(`"${what}"`, () => arrived.get(what) as Message<What> | undefined, 120_000),
  };
}

/** There is one on a node at most, so it has the node's name. */
function smallPod(node: string) {
  const resources = { requests: { cpu: "10m", memory: "16Mi" } };
  const containers = [{ name: "main", image: "registry.example/small:1", resources }];
  return { metadata: { namespace: "default", name: node }, spec: { nodeName: node, containers } };
}
