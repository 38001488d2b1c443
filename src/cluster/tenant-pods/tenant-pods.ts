/** What the pods of a lease say and do, while it happens, as far as tenants may follow it. */
import { createLeaseEvents } from "./lease-events.ts";

type TenantPodsDeps = Parameters<typeof createLeaseEvents>[0];

export function createTenantPods(deps: TenantPodsDeps) {
  return { events: createLeaseEvents(deps) };
}
