/** A WebSocket of a tenant, as logs, events and shell use it. */
import { ProviderError } from "../../runtime/errors.ts";
import { AuthError } from "../auth/identity.ts";

export interface TenantStream {
  /** Await the result before the next frame. Clients that read too slowly are cut off. */
  send(frame: string | Uint8Array): Promise<void> | undefined;
  /** No more is read until the result resolves. To be called synchronously: earlier frames are discarded. */
  onFrame(listener: (bytes: Buffer, isBinary: boolean) => Promise<void> | undefined): void;
  /**
   * Aborted when the stream has to end; the reason is a ProviderError, which determines the close code. What is sent at once still
   * arrives before the close frame.
   */
  readonly signal: AbortSignal;
}

/** Content of the close frame. */
export interface Close {
  readonly code: number;
  readonly reason?: string;
}

/** What it throws is converted by `closeFor`. */
export type StreamHandler = (stream: TenantStream) => Promise<Close>;

/** The network defines the codes from 4000 on; the others are WebSocket's. */
export const closeCodes = {
  done: 1000,
  goingAway: 1001,
  policyViolation: 1008,
  internal: 4000,
  notFound: 4001,
  clusterAway: 4002,
} as const;

/** A close frame's reason has at most 123 bytes. */
const reasonBytes = 123;

export function closeFor(thrown: unknown): Close {
  if (thrown instanceof AuthError) return closeWith(closeCodes.policyViolation, thrown.message);
  const error = ProviderError.from(thrown);
  switch (error.code) {
    case "AKP_STREAM_LEASE_CLOSED":
      return closeWith(closeCodes.done, error.message);
    case "AKP_STREAM_STOPPING":
      return closeWith(closeCodes.goingAway, error.message);
    case "AKP_STREAM_CREDENTIALS_OVER":
      return closeWith(closeCodes.policyViolation, error.message);
  }
  if (error.entry.http === 503) return { code: closeCodes.clusterAway };
  return { code: error.entry.http === 404 ? closeCodes.notFound : closeCodes.internal };
}

function closeWith(code: number, reason: string): Close {
  // Without half a character at the end: it must be UTF-8.
  const text = new TextDecoder().decode(Buffer.from(reason).subarray(0, reasonBytes));
  return { code, reason: text.replace(/\ufffd+$/, "") };
}
