import { createMemoryBus } from "../../src/bus/memory.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { checkBusContract } from "../support/contracts/bus.contract.ts";

checkBusContract({
  name: "memory",
  skip: false,
  open(owner, { limits = {}, log = silentLog } = {}) {
    const bus = createMemoryBus({ clock: realClock, log, limits });
    owner.after(() => bus.close());
    return { first: bus, second: bus };
  },
});
