import { after } from "node:test";
import { createRedisBus } from "../src/bus/redis.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { checkBusContract } from "./bus.contract.ts";
import { redisMissing, startRedis } from "./redis-server.ts";

/** One server for the whole file; each test has keys of its own. */
const server = redisMissing ? undefined : await startRedis({ after });
let prefixes = 0;

checkBusContract({
  name: "Redis",
  skip: redisMissing,
  async open(owner, { limits = {}, log = silentLog } = {}) {
    prefixes += 1;
    const prefix = `test-${prefixes}:`;
    const url = server?.url ?? "";
    const [first, second] = [1, 2].map(() => {
      const bus = createRedisBus({ url, prefix, clock: realClock, random: realRandom, log, limits });
      owner.after(() => bus.close());
      return bus;
    });
    return { first: first!, second: second! };
  },
});
