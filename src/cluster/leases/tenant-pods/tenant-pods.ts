/** What the pods of a lease say and do, while it happens, as far as tenants may follow it. */
import type { Kube } from "../../../kube/kube.ts";
import type { Clock } from "../../../runtime/clock.ts";
import type { Log } from "../../../runtime/log.ts";
import type { Random } from "../../../runtime/random.ts";
import type { LeasePods } from "../../capacity/reservations/lease-watches.ts";
import { createLeaseEvents } from "./lease-events.ts";
import { createLeaseLogs } from "./lease-logs.ts";
import { createLeaseShell } from "./lease-shell.ts";
import { createPodNews } from "./pod-news.ts";

type TenantPodsDeps = Parameters<typeof createLeaseEvents>[0] & {
  readonly kube: Kube;
  readonly pods: LeasePods;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
};

export function createTenantPods(deps: TenantPodsDeps) {
  const { kube, pods } = deps;
  return {
    events: createLeaseEvents(deps),
    ...createLeaseLogs({ kube, pods, news: createPodNews(pods) }),
    ...createLeaseShell(deps),
  };
}
