import { after } from "node:test";
import { createRedisBus } from "../../src/bus/redis.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { checkBusContract } from "../support/contracts/bus.contract.ts";
import { redisMissing, startRedis } from "../support/redis-server.ts";

/** One server for the whole file; each test has keys of its own. */
const server = redisMissing ? undefined : await startRedis({ after });
let prefixes = 0;

checkBusContract({
  name: "Redis",
  skip: redisMissing,
  open(owner, { limits = {}, log = silentLog } = {}) {
    prefixes += 1;
    const options = { url: server?.url ?? "", prefix: `test-${prefixes}:`, clock: realClock, random: realRandom };
    const [first, second] = [createRedisBus({ ...options, log, limits }), createRedisBus({ ...options, log, limits })];
    owner.after(() => first.close());
    owner.after(() => second.close());
    return { first, second };
  },
});
