/** A refusal as it goes over the wire. */
import type { Peer } from "../../../../kube/client/refusal.ts";
import type { Refused } from "../objects/refused.ts";

/** With whom one speaks when there is nobody, for messages. */
export const peer: Peer = { server: new URL("http://simulated"), path: "the simulated cluster" };

export function statusOf({ status, reason, message, details }: Refused): object {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === "" ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code: status,
  };
}
