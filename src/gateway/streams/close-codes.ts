/** With which code a stream ends that could not go on. The network's clients know three of their own; the rest are WebSocket's. */
import { ProviderError } from "../../runtime/errors.ts";
import { AuthRefusal } from "../auth/identity.ts";
import type { Close } from "./tenant-stream.ts";

export const closeCodes = {
  done: 1000,
  goingAway: 1001,
  refused: 1008,
  internal: 4000,
  notFound: 4001,
  clusterAway: 4002,
} as const;

/** A close frame's reason has at most 123 bytes. */
const reasonBytes = 123;

/** What nobody foresaw says nothing. */
export function closeFor(thrown: unknown): Close {
  if (thrown instanceof AuthRefusal) return closeWith(closeCodes.refused, thrown.message);
  const error = ProviderError.from(thrown);
  switch (error.code) {
    case "AKP_STREAM_LEASE_CLOSED":
      return closeWith(closeCodes.done, error.message);
    case "AKP_STREAM_STOPPING":
      return closeWith(closeCodes.goingAway, error.message);
    case "AKP_STREAM_CREDENTIALS_OVER":
      return closeWith(closeCodes.refused, error.message);
    default:
      return { code: codeOf(error.entry.http) };
  }
}

/** The same table as for REST's answers. */
function codeOf(http: number): number {
  if (http === 503) return closeCodes.clusterAway;
  return http === 404 ? closeCodes.notFound : closeCodes.internal;
}

function closeWith(code: number, reason: string): Close {
  // Cut in the middle of a character, it would be no text any more: WebSocket wants one.
  return {
    code,
    reason: new TextDecoder().decode(Buffer.from(reason).subarray(0, reasonBytes)).replace(/\ufffd+$/, ""),
  };
}
