/** Tells the bus which orders and leases the chain has changed. Keys only: whoever wants to know more asks the mirror. */
import type { Bus } from "../bus/bus.ts";
import type { Chain } from "../chain/chain.ts";
import { formatLeaseId, formatOrderId } from "../market/ids.ts";

export function announce(chain: Chain, bus: Bus): void {
  chain.onStep(({ block }) => {
    for (const { event } of block?.events ?? []) {
      if (event.kind === "OrderCreated" || event.kind === "OrderClosed") {
        bus.publish("akash.provider.event.order", { kind: event.kind, order: formatOrderId(event.id) });
      }
      if ((event.kind === "LeaseCreated" || event.kind === "LeaseClosed") && event.id.provider === chain.provider) {
        bus.publish("akash.provider.event.lease", { kind: event.kind, lease: formatLeaseId(event.id) });
      }
    }
    return undefined;
  });
}
