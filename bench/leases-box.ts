/**
 * The world of the benchmarks of leases in a process of its own: a chain whose node is reached over the wire, and a simulated
 * cluster behind real HTTP. It reports to its parent where they are and, on request, which requests the cluster received and
 * when each lease gained or lost its ready pod.
 */
import { createEmbeddedNode } from "../src/box/chain/embedded-node.ts";
import type { Behaviour } from "../src/box/cluster/components/kubelet/behaviour.ts";
import { createSimulatedCluster } from "../src/box/cluster/simulated-kube.ts";
import { conditionHolds, fieldsOf } from "../src/kube/json-fields.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { KubeObject } from "../src/kube/kube.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { startKubeHttpServer } from "../test/support/kube-http-server.ts";
import { createOwner } from "../test/support/owner.ts";
import { initialCoins, machine, prepareCluster } from "../test/support/stages/lease-stage.ts";
import {
  chainId,
  crowdSigners,
  leaseOf,
  otherSigner,
  providerSigner,
  talkative,
  tenantSigner,
} from "./leases-people.ts";
import { serveParent, sharedMs } from "./processes.ts";
import { size } from "./report.ts";

export type Report =
  | { readonly what: "ready"; readonly rpcUrl: string; readonly kubeconfig: string }
  /** Since the last report: "GET /api/v1/pods?watch=1…". */
  | { readonly what: "requests"; readonly requests: readonly string[] }
  | { readonly what: "changes"; readonly changes: readonly PodChange[] };

export type Command =
  | { readonly what: "requests" }
  /** Blocks come as slowly from now on. */
  | { readonly what: "blocks"; readonly everyMs: number }
  /** Deletes the pods of these leases; their controllers create others. */
  | { readonly what: "delete"; readonly dseqs: readonly number[] }
  /** Since the last report. */
  | { readonly what: "changes" };

/** Of a lease that has one pod: from now on it is ready, or none is. */
export interface PodChange {
  readonly namespace: string;
  readonly isReady: boolean;
  /** When the API server wrote it, by the clock that all processes of this machine share. */
  readonly atMs: number;
}

/** Quick, so that leases are soon there; nothing that is measured waits for a block. */
let blockMs = 200;
/** Room for every lease of the benchmark. */
const machines = 10;

/** Long enough for a pod that is missed to be seen as missing, whatever else the machine does. */
const quiet = { startMs: size(2_000, 1_000) };
/** Some 10 MB. */
const talks: Behaviour = { logs: (line) => `${line} `.padEnd(1_000, "x") };

const [folder = ""] = process.argv.slice(2);
const deps = { clock: realClock, random: realRandom, log: silentLog };
const node = createEmbeddedNode({
  chainId,
  accounts: [providerSigner, tenantSigner, otherSigner, ...crowdSigners].map(({ address }) => ({
    address,
    coins: initialCoins,
  })),
  ...{ clock: realClock, log: silentLog, keepBlocks: 500 },
});
await node.start();
makeBlock();
const cluster = createSimulatedCluster(
  {
    nodes: Array.from({ length: machines }, (_, n) => ({ ...machine, name: `node-${n}` })),
    behaviour: (image) => (image === talkative ? talks : quiet),
  },
  deps,
);
prepareCluster(cluster);
const face = await startKubeHttpServer(createOwner(), cluster);
/** Pods that are ready, by namespace. */
const ready = new Map<string, Set<string>>();
const changes: PodChange[] = [];
cluster.server.subscribe(({ type, kind, object }) => {
  const { namespace = "", uid = "", deletionTimestamp } = object.metadata;
  if (kind !== kinds.pod) return;
  const own = ready.get(namespace) ?? new Set();
  const wasReady = own.size > 0;
  if (type !== "deleted" && deletionTimestamp === undefined && isReady(object)) own.add(uid);
  else own.delete(uid);
  ready.set(namespace, own);
  if (wasReady !== own.size > 0) changes.push({ namespace, isReady: !wasReady, atMs: sharedMs() });
});
const sendReport = serveParent<Command, Report>((command) => {
  if (command.what === "blocks") blockMs = command.everyMs;
  if (command.what === "requests") sendReport({ what: "requests", requests: face.requests.splice(0) });
  if (command.what === "changes") sendReport({ what: "changes", changes: changes.splice(0) });
  if (command.what === "delete") for (const dseq of command.dseqs) deletePod(leaseNamespace(leaseOf(dseq)));
});
sendReport({ what: "ready", rpcUrl: node.rpcUrl, kubeconfig: face.writeKubeconfig(folder) });

function makeBlock(): void {
  node.step();
  realClock.timer(blockMs, makeBlock);
}

function deletePod(namespace: string): void {
  for (const { metadata } of cluster.server.list(kinds.pod, { namespace })) {
    if (metadata.deletionTimestamp === undefined) cluster.server.delete(kinds.pod, { namespace, name: metadata.name });
  }
}

function isReady({ status }: KubeObject): boolean {
  return conditionHolds(fieldsOf(status)["conditions"], "Ready");
}
