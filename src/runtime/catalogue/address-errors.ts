import { type Errors, statuses } from "./entry.ts";

export const addressErrors = {
  AKP_ADDRESS_POOL_EXHAUSTED: {
    // In the words of the network's documents.
    message: "no IP addresses available in pool",
    advice: "Give MetalLB's pool, or --ip-range, more addresses. Who waits gets one by itself as soon as one is free.",
    ...statuses(503, "RESOURCE_EXHAUSTED"),
  },
  AKP_ADDRESS_POOL_MISSING: {
    message: "{reason}",
    advice: "Make one, or name the right one with --metal-lb-pool. It is found by itself once it is there.",
    ...statuses(503, "FAILED_PRECONDITION"),
  },
  AKP_ADDRESS_RANGE_OVERLAP: {
    message: "{reason}",
    advice:
      "Addresses of --ip-range are the IP operator's alone: take them out of that pool, or out of the range. Nothing new is given until then.",
    ...statuses(503, "FAILED_PRECONDITION"),
  },
  AKP_METALLB_SILENT: {
    message: "MetalLB has not assigned a free address for more than {seconds} s",
    advice:
      "Look at the log of MetalLB's controller, and at the Events of the Services that wait: `kubectl describe service`. Nothing is bid that needs an address until one is assigned.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_METALLB_MISSING: {
    message: "MetalLB cannot be asked for addresses: {reason}",
    advice: "Install MetalLB 0.13 or later, which serves metallb.io/v1beta1. It is found by itself once it is there.",
    ...statuses(503, "FAILED_PRECONDITION"),
  },
} as const satisfies Errors;
