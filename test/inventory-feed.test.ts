/** The feeds of the inventory against the operator's own publisher, each in its way. */
import { createGrpcFeed } from "../src/cluster/inventory/grpc-feed.ts";
import { createMemoryFeed } from "../src/cluster/inventory/memory-feed.ts";
import { startGrpc } from "../src/operators/inventory/publishing/grpc.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { checkFeed } from "./inventory-feed.contract.ts";

checkFeed({
  name: "over gRPC",
  async open(owner, publisher, clock) {
    const grpc = await startGrpc(publisher, { host: "127.0.0.1", port: 0, clock: realClock, log: silentLog });
    owner.after(() => grpc.close());
    const locate = async () => ({ host: "127.0.0.1", port: grpc.port });
    return createGrpcFeed({ locate, clock, random: createSeededRandom(1), log: silentLog });
  },
});

checkFeed({
  name: "in memory",
  open: async (_, publisher, clock) => createMemoryFeed({ source: Promise.resolve(publisher), clock, log: silentLog }),
});
