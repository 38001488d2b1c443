import { type Errors, statuses } from "./entry.ts";

/** Their words are the network's wherever it has some: tenants' tools look for them. */
export const manifestErrors = {
  AKP_MANIFEST_TOO_LARGE: {
    message: "http: request body too large",
    advice: "A manifest has at most {mostBytes} bytes. Put large files into the image or fetch them from within it.",
    ...statuses(413, "RESOURCE_EXHAUSTED"),
  },
  AKP_MANIFEST_UNREADABLE: {
    message: "{reason}",
    advice: "Send the manifest as JSON, in the form that `akash-provider sdl-to-manifest` prints.",
    ...statuses(422, "INVALID_ARGUMENT"),
  },
  AKP_MANIFEST_INVALID: {
    message: "{reason}",
    advice: "Correct the SDL, update the deployment with it and send its manifest again.",
    ...statuses(422, "INVALID_ARGUMENT"),
  },
  AKP_MANIFEST_OTHER_VERSION: {
    message: "manifest version validation failed",
    advice: "Send the manifest of the SDL that the deployment was last created or updated with.",
    ...statuses(422, "INVALID_ARGUMENT"),
  },
  AKP_MANIFEST_MISMATCH: {
    message: "{reason}",
    advice:
      "What the manifest asks for is not what the deployment's groups on chain say. Create a new deployment with it.",
    ...statuses(422, "INVALID_ARGUMENT"),
  },
  AKP_MANIFEST_REJECTED: {
    message: "manifest rejected: {reason}",
    advice: "This provider does not run it as it is. Change it or choose another provider.",
    ...statuses(422, "FAILED_PRECONDITION"),
  },
  // Consoles know this one by its words and the status of the network's own provider.
  AKP_MANIFEST_HOST_REFUSED: {
    message: "{reason}",
    advice: "Choose another host name, or ask whoever holds it to give it up.",
    ...statuses(422, "FAILED_PRECONDITION"),
  },
  AKP_DEPLOYMENT_UNKNOWN: {
    message: "rpc error: code = NotFound desc = Deployment not found: key not found",
    advice: "Check owner and dseq: the chain has no such deployment.",
    ...statuses(500, "NOT_FOUND"),
  },
  AKP_NO_LEASE: {
    message: "no lease for deployment",
    advice: "Accept a bid of this provider first, then send the manifest.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_MANIFEST_BUSY: {
    message: "{waiting} requests about this deployment are being worked on already",
    advice: "Wait for the answers to those before sending more.",
    ...statuses(429, "RESOURCE_EXHAUSTED"),
  },
} as const satisfies Errors;
