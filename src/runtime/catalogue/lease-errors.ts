import { type Errors, statuses } from "./entry.ts";

export const leaseErrors = {
  AKP_LEASE_NOT_OURS: {
    message: "{lease} is a lease with {provider}, and we are {ours}",
    advice: "`akash-provider leases` lists ours.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_LEASE_UNKNOWN: {
    message: "the chain has no lease {lease} at height {height}",
    advice: "`akash-provider leases` lists ours.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_LEASE_NOT_IN_CLUSTER: {
    message: "nothing of the lease {lease} is in the cluster",
    advice: "Send the manifest, or ask about a lease that is not closed.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_LEASE_OVER: {
    message: "the lease {lease} is {state} since height {closedOn}",
    advice: "Nothing is to be done: what it has in the cluster is taken away by itself.",
    ...statuses(409, "FAILED_PRECONDITION"),
  },
  AKP_LEASE_RECLAIMED_LATER: {
    message:
      "the lease {lease} is being reclaimed and can be closed from {from} on: until then its tenant was promised it",
    advice: "Nothing is to be done: it is closed by itself then.",
    ...statuses(409, "FAILED_PRECONDITION"),
  },
  AKP_LEASE_NOT_RECLAIMABLE: {
    message: "the lease {lease} has no reclamation window: its tenant was promised no notice",
    advice: "`akash-provider lease close` ends it at once.",
    ...statuses(409, "FAILED_PRECONDITION"),
  },
  AKP_REFRESH_NOT_READY: {
    message: "lease {lease} is not ready {minutes} minutes after its pods were replaced",
    advice:
      "No other lease was begun. `akash-provider leases` names the reason. Correct the setting that is behind it, restart the provider and refresh this lease again.",
    ...statuses(503, "UNAVAILABLE"),
  },
} as const satisfies Errors;
