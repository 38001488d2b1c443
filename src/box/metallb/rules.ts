/**
 * What the played MetalLB does, rule by rule, and where MetalLB says that it does so: its documentation in its own words, or
 * its source (v0.15) in ours. Not played: dual stack, pools for some namespaces only, load balancer classes, announcing.
 */
interface MetalLbRule {
  readonly name: string;
  readonly says: string;
  readonly where: string;
}

const usage = "metallb.io/usage";
const source = "internal/allocator/allocator.go";

export const metalLbRules = [
  {
    name: "only from pools",
    says: "it will only ever hand out IPs that are part of its configured pools",
    where: "metallb.io/concepts, Address allocation",
  },
  {
    name: "first admissible",
    says: "goes through a pool's ranges in their order and takes the first address that the Service may have",
    where: `${source}, getIPFromCIDR`,
  },
  {
    name: "kept",
    says: "When one or more IPs are assigned to a service, MetalLB tries to keep them assigned to that service.",
    where: "metallb.io/concepts, Address allocation",
  },
  {
    name: "kept over a restart",
    says: "no Service is looked at before pools are loaded; then those that have an address come first, so that no other Service takes it",
    where:
      "internal/k8s/controllers/service_controller.go, initialLoadPerformed; service_controller_reload.go, reprocessAll",
  },
  {
    name: "of its family",
    says: "an address of another family than the Service's cluster IP is neither assigned nor kept",
    where: "controller/service.go, allocateIPs, serviceFamilyChanged",
  },
  {
    name: "moved when its pool is gone",
    says: "In case of removal of those IPs from the pools […], MetalLB will assign another set of IPs to the service (when available).",
    where: "metallb.io/concepts, Address allocation",
  },
  {
    name: "not shared by default",
    says: "By default, Services do not share IP addresses.",
    where: `${usage}, IP address sharing`,
  },
  {
    name: "shared by key and different ports",
    says: "They both have the same sharing key. They request the use of different ports (e.g. tcp/80 for one and tcp/443 for the other).",
    where: `${usage}, IP address sharing`,
  },
  {
    name: "shared by traffic policy",
    says: "They both use the Cluster external traffic policy, or they both point to the exact same set of pods",
    where: `${usage}, IP address sharing`,
  },
  {
    name: "shared is not promised",
    says: "MetalLB may colocate the two services on the same IP, but does not have to.",
    where: `${usage}, IP address sharing`,
  },
  {
    name: "pinned",
    says: "MetalLB respects the spec.loadBalancerIP parameter […] MetalLB supports spec.loadBalancerIP and a custom metallb.io/loadBalancerIPs annotation.",
    where: `${usage}, Requesting specific IPs`,
  },
  {
    name: "pinned address is not available",
    says: "If MetalLB does not own the requested address, or if the address is already in use by another service, assignment will fail and MetalLB will log a warning event",
    where: `${usage}, Requesting specific IPs`,
  },
  {
    name: "pinned anew",
    says: "a Service that requests another address than it has loses the one it has before the other is tried",
    where: "controller/service.go, convergeBalancer",
  },
  {
    name: "pool by name",
    says: "To request assignment from a specific pool, add the metallb.io/address-pool annotation to your service",
    where: `${usage}, Requesting specific IPs`,
  },
  {
    name: "no automatic assignment",
    says: "you can disable automatic allocation for a pool by setting the autoAssign flag to false […] Addresses can still be specifically allocated",
    where: "metallb.io/configuration/_advanced_ipaddresspool_configuration",
  },
  {
    name: "buggy addresses",
    says: "AvoidBuggyIPs prevents addresses ending with .0 and .255 to be used by a pool.",
    where: "metallb.io/apis, IPAddressPoolSpec",
  },
  {
    name: "no overlap",
    says: "a configuration in which ranges of two pools overlap is rejected as a whole, and the one before stays in force",
    where: "internal/config/config.go, poolsFor",
  },
  {
    name: "exhausted",
    says: "a Service for which there is no address stays without, with a warning event AllocationFailed",
    where: "controller/service.go, convergeBalancer",
  },
  {
    name: "freed",
    says: "when a balancer goes, all others are looked at again: one may have waited for its address; those that have one come first",
    where: "controller/main.go, SetBalancer; internal/k8s/controllers/service_controller_reload.go",
  },
  {
    name: "annotation",
    says: "the pool that an address came from is written beside it, as the annotation metallb.io/ip-allocated-from-pool",
    where: "controller/service.go, convergeBalancer",
  },
  {
    name: "old words",
    says: "annotations that begin with metallb.universe.tf/ are read where the newer are missing, with a warning event deprecatedAnnotation",
    where: "controller/main.go, SetBalancer",
  },
  {
    name: "pool status",
    says: "AssignedIPv4 is the number of assigned IPv4 addresses. AvailableIPv4 is the number of available IPv4 addresses.",
    where: "metallb.io/apis, IPAddressPoolStatus",
  },
  {
    name: "metrics",
    says: "Number of IP addresses in use, per pool. Total number of usable IP addresses, per pool.",
    where: "metallb.io/prometheus-metrics",
  },
] as const satisfies readonly MetalLbRule[];

export type RuleName = (typeof metalLbRules)[number]["name"];
