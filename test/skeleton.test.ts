import { createSimulatedCluster } from "../src/box/cluster/simulated-kube.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { checkSkeleton } from "./skeleton.contract.ts";

const image = "example.com/web:1";
const page = "hello from the simulation\n";

checkSkeleton({
  name: "the simulated cluster",
  skip: false,
  async open(owner) {
    const node = { name: "one", cpuMilli: 4_000n, memoryBytes: 2n ** 33n, ephemeralBytes: 2n ** 35n };
    const quick = { pullMs: 10, startMs: 10, stopMs: 10, http: () => ({ status: 200, body: page }) };
    const cluster = createSimulatedCluster(
      { nodes: [node], behaviour: (name) => (name === image ? quick : undefined) },
      { clock: realClock, random: createSeededRandom(1), log: silentLog },
    );
    owner.after(() => cluster.close());
    return cluster.connect("akash-provider");
  },
  image,
  port: 8080,
  page,
});
