/** A WebSocket with a tenant at its other end, as logs, events and shell see it. */

export interface TenantStream {
  /**
   * Sends a frame: text as text, bytes as binary. Undefined: there is room for more; else wait for it before the next one.
   * A reader that stays too far behind for too long is cut off, and the signal says so.
   */
  send(frame: string | Uint8Array): Promise<void> | undefined;
  /**
   * What the tenant sends, control frames aside. No more is read until the answer resolves. To be called before the first wait:
   * what comes while nobody listens is thrown away.
   */
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
