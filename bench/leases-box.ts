/**
 * The world of the leases benchmark in a process of its own: a chain whose node is reached over the wire, and a simulated
 * cluster behind real HTTP. It tells its parent where they are and, when asked, which requests the cluster has had.
 */
import { createEmbeddedNode } from "../src/box/chain/embedded-node.ts";
import { createSimulatedCluster } from "../src/box/cluster/simulated-kube.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { startHttpFace } from "../test/http-face.ts";
import { machine, prepareCluster, purse } from "../test/lease-stage.ts";
import { createOwner } from "../test/owner.ts";
import { chainId, providerSigner, tenantSigner } from "./leases-people.ts";

export type Told =
  | { readonly what: "ready"; readonly rpcUrl: string; readonly kubeconfig: string }
  /** Since it was last asked: "GET /api/v1/pods?watch=1…". */
  | { readonly what: "requests"; readonly requests: readonly string[] };

/** Quick, so that leases are soon there; nothing that is measured waits for a block. */
const blockMs = 200;
/** Room for every lease of the benchmark. */
const machines = 10;

const [folder = ""] = process.argv.slice(2);
const owner = createOwner();
const deps = { clock: realClock, random: realRandom, log: silentLog };
const node = createEmbeddedNode({
  chainId,
  accounts: [providerSigner, tenantSigner].map(({ address }) => ({ address, coins: purse })),
  ...{ clock: realClock, log: silentLog, blockMs, keepBlocks: 500 },
});
await node.start();
const cluster = createSimulatedCluster(
  {
    nodes: Array.from({ length: machines }, (_, n) => ({ ...machine, name: `node-${n}` })),
  },
  deps,
);
prepareCluster(cluster);
const face = await startHttpFace(owner, cluster);
tell({ what: "ready", rpcUrl: node.rpcUrl, kubeconfig: face.writeKubeconfig(folder) });
process.on("message", (asked: "requests" | "stop") => {
  if (asked === "requests") tell({ what: "requests", requests: face.requests.splice(0) });
  else void stop();
});

async function stop(): Promise<void> {
  await owner[Symbol.asyncDispose]();
  await cluster.close();
  await node.stop();
  process.disconnect();
}

function tell(message: Told): void {
  process.send?.(message);
}
