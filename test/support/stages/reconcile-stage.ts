/** A reconciler beside the keeper of leases, on the leases that a test shows both. */
import type { Chain } from "../../../src/chain/chain.ts";
import type { Lease } from "../../../src/chain/records.ts";
import { createReconciler } from "../../../src/cluster/leases/reconcile/reconciler.ts";
import { formatLeaseId, formatOrderId } from "../../../src/market/ids.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import type { LeaseStage, Life } from "./lease-keeper-stage.ts";
import { chainOf } from "./reservation-stage.ts";

/** `onChain` are leases that run there and of which the mirror knows nothing, until it is compared. */
export function openReconciler(
  { world, clock }: Pick<LeaseStage, "world" | "clock">,
  { keeper, journal, kube }: Life,
  onChain: readonly Lease[] = [],
) {
  const { chain: mirrored } = chainOf(world);
  let missed = onChain;
  const listed = (state: string | undefined) =>
    [...world.leases.values(), ...missed].filter((lease) => lease.state === state);
  const chain = {
    ...mirrored,
    // All is as old as it need be.
    status: { blockTimeMs: 3_600_000 },
    queries: {
      ...mirrored.queries,
      leases: async ({ state }: { state?: string }) => ({
        items: listed(state).map((lease) => ({ ...lease, createdAt: 0n })),
        ...{ height: 10n, steady: true, node: "test" },
      }),
    },
    async compareMirror() {
      for (const lease of missed) {
        world.leases.set(formatLeaseId(lease.id), lease);
        keeper.wake(formatLeaseId(lease.id));
      }
      missed = [];
      return [];
    },
  } as unknown as Chain;
  const booked = () => [...world.leases.values(), ...missed].map(({ id }) => formatOrderId(id));
  return createReconciler({
    ...{ chain, kube, clock, leases: keeper, manifestNamespace: "lease" },
    journal: {
      ...journal,
      // Reservations are another's business.
      read: { ...journal.read, reservations: { ...journal.read.reservations, orderIds: booked } },
    },
    capacity: {
      book: { all: () => booked().map((orderId) => ({ orderId, expiresAtMs: clock.now() })) } as never,
      wake: () => undefined,
    },
    log: silentLog,
    onChange: () => undefined,
  });
}
