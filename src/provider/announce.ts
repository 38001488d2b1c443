/** Tells the bus which orders and leases have changed. Keys only: whoever wants to know more asks the mirror. */
import type { Bus } from "../bus/bus.ts";
import type { Chain } from "../chain/chain.ts";
import { runs } from "../chain/records.ts";
import { parseLeaseId, parseOrderId } from "../market/ids.ts";

/** Also what a gap or a comparison with the chain brought to light, which no event told of. */
export function announce(chain: Pick<Chain, "onStep" | "mirror">, bus: Bus): void {
  chain.onStep(({ changed }) => {
    for (const { kind, key } of changed) {
      if (kind === "order") {
        const isOpen = chain.mirror.order(parseOrderId(key)) !== undefined;
        bus.publish("akash.provider.event.order", { kind: isOpen ? "OrderCreated" : "OrderClosed", order: key });
      }
      if (kind === "lease") {
        const isRunning = runs(chain.mirror.lease(parseLeaseId(key)));
        bus.publish("akash.provider.event.lease", { kind: isRunning ? "LeaseCreated" : "LeaseClosed", lease: key });
      }
    }
  });
}
