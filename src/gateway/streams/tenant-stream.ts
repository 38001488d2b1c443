/** A WebSocket with a tenant at its other end, as logs, events and shell see it. */
import { ProviderError } from "../../runtime/errors.ts";
import { AuthError } from "../auth/identity.ts";

export interface TenantStream {
  /** Text as text, bytes as binary. Wait for what it returns before the next frame; too slow a reader is cut off. */
  send(frame: string | Uint8Array): Promise<void> | undefined;
  /** No more is read until the answer resolves. To be called before the first wait: what comes before is thrown away. */
  onFrame(listener: (bytes: Buffer, isBinary: boolean) => Promise<void> | undefined): void;
  /**
   * Aborted when nobody reads any more: the tenant left or is too slow, its credentials or its lease ended, or we stop. The
   * reason is a ProviderError, which decides on the close code. Where the tenant is still there, what is sent at once still
   * arrives before the close frame.
   */
  readonly signal: AbortSignal;
}

/** How a stream ends: told in its close frame. */
export interface Close {
  readonly code: number;
  readonly reason?: string;
}

/** Answers how it ended. What it throws becomes a close code of its own. */
export type StreamHandler = (stream: TenantStream) => Promise<Close>;

// With which code a stream ends that could not go on. The network's clients know three of their own; the rest are WebSocket's.

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

export function closeFor(thrown: unknown): Close {
  if (thrown instanceof AuthError) return closeWith(closeCodes.refused, thrown.message);
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
