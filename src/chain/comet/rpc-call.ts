/** JSON-RPC 2.0 to one node, whatever the transport: numbered calls, each with a bound on its time and its bytes. */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import { readAnswer } from "./rpc-answer.ts";
import { type RpcTransport, unreachable } from "./transport.ts";

export interface CallLimits {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** So much more of the answer has come. */
  readonly onBytes?: (bytes: number) => void;
}

export type RpcCall = (
  method: string,
  params: Readonly<Record<string, unknown>>,
  bounds?: CallLimits,
) => Promise<unknown>;

export function createRpcCall(transport: RpcTransport, clock: Clock): RpcCall {
  const { name: endpoint } = transport;
  let ids = 0;

  return async (method, params, { timeoutMs = limits.rpcCallMs, signal, onBytes } = {}) => {
    signal?.throwIfAborted();
    ids += 1;
    const question = { endpoint, method, id: ids };
    const text = JSON.stringify({ jsonrpc: "2.0", id: question.id, method, params });
    const ending = new AbortController();
    let bytes = 0;
    const timer = clock.timer(timeoutMs, () => {
      const reason = bytes > 0 ? `only ${bytes} bytes within ${timeoutMs} ms` : `no answer within ${timeoutMs} ms`;
      ending.abort(unreachable(endpoint, reason));
    });
    const onAbort = () => ending.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const took = (more: number) => {
      bytes += more;
      onBytes?.(more);
      if (bytes <= limits.rpcAnswerBytes) return;
      const reason = `more than ${limits.rpcAnswerBytes} bytes`;
      ending.abort(new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { endpoint, method, reason }));
    };
    try {
      const answer = await transport.send({ method, text }, { signal: ending.signal, onBytes: took });
      return await readAnswer(question, answer, clock);
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    }
  };
}
