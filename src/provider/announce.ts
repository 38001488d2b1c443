/** Tells the bus which orders and leases have changed. Keys only: whoever wants to know more asks the mirror. */
import type { Bus } from "../bus/bus.ts";
import type { Chain } from "../chain/chain.ts";
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
        const state = chain.mirror.lease(parseLeaseId(key))?.state;
        const runs = state === "active" || state === "reclaiming";
        bus.publish("akash.provider.event.lease", { kind: runs ? "LeaseCreated" : "LeaseClosed", lease: key });
      }
    }
  });
}
