/** What the pods of a lease say and do, while it happens, as far as tenants may follow it. */
import type { Kube } from "../../kube/kube.ts";
import type { LeasePods } from "../reservations/lease-pods.ts";
import { createLeaseEvents } from "./lease-events.ts";
import { createLeaseLogs } from "./lease-logs.ts";
import { createLeaseShell } from "./lease-shell.ts";
import { createPodNews } from "./pod-news.ts";

type TenantPodsDeps = Parameters<typeof createLeaseEvents>[0] & {
  readonly kube: Kube;
  readonly pods: LeasePods;
};

export function createTenantPods(deps: TenantPodsDeps) {
  const { kube, pods } = deps;
  return {
    events: createLeaseEvents(deps),
    ...createLeaseLogs({ kube, pods, news: createPodNews(pods) }),
    ...createLeaseShell({ kube, pods }),
  };
}
