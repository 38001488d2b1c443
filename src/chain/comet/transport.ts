/** How questions get to one node of the chain and its answers come back: over sockets, or within the process. */
import { ProviderError } from "../../runtime/errors.ts";

export interface RpcTransport {
  readonly name: string;
  /** Resolves with the answer as it came, whatever it says. */
  send(request: RpcRequest, bounds: SendBounds): Promise<RawAnswer>;
  /** Sends the text over a WebSocket and hands over each message; resolves at the signal or a close, rejects on failure. */
  listen(text: string, heard: (message: string) => void, signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface RpcRequest {
  /** For messages; the text says it too. */
  readonly method: string;
  /** JSON-RPC 2.0. */
  readonly text: string;
}

export interface SendBounds {
  /** Rejects with its reason, also while the answer comes. */
  readonly signal: AbortSignal;
  /** Called with each part's size; a caller that has enough aborts the signal. */
  readonly onBytes: (bytes: number) => void;
}

export interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

export function unreachable(node: string, reason: string, cause?: unknown): ProviderError {
  return new ProviderError("AKP_CHAIN_UNREACHABLE", { node, reason }, { cause });
}
