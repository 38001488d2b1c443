/** Subscribes to new blocks, only to wake the follower early: a lost or wrong subscription costs a moment, never an event. */
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { jitter } from "../../runtime/random.ts";
import { createWakeSignal } from "../../runtime/wake-signal.ts";
import { isOfChain } from "../chain-failure.ts";
import type { RpcTransport } from "./transport.ts";

export const rpcWakeReconnectFirstMs = 500;
const rpcWakeReconnectMostMs = 30 * second;

interface WakeupDeps extends RuntimeDeps {
  /** The node to listen to; called before every connection. */
  readonly node: () => RpcTransport;
  readonly wake: () => void;
}

const params = { query: "tm.event='NewBlockHeader'" };
const subscription = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscribe", params });

export function createWakeup({ node: preferred, wake, clock, random, log }: WakeupDeps) {
  const pause = createWakeSignal(clock);
  let subscribed = false;
  let current: { readonly node: RpcTransport; end(): void } | undefined;

  /** Resolves when the connection has ended, for whatever reason; true if it ever worked. */
  async function listen(signal: AbortSignal): Promise<boolean> {
    const node = preferred();
    const ending = new AbortController();
    const end = () => ending.abort();
    /** The first message only says that the subscription stands; a block may have been made just before. */
    const hear = (message: string) => {
      if (isError(message)) return end();
      subscribed = true;
      wake();
    };
    current = { node, end };
    try {
      await node.listen(subscription, hear, AbortSignal.any([signal, ending.signal]));
    } catch (thrown) {
      if (!isOfChain(thrown)) throw thrown;
      const isOurs = ProviderError.is(thrown, "AKP_CHAIN_TLS_FILE_UNREADABLE");
      log[isOurs ? "error" : "debug"]("cannot subscribe to new blocks", { error: thrown });
    } finally {
      current = undefined;
    }
    const worked = subscribed;
    subscribed = false;
    return worked;
  }

  return {
    async run(signal: AbortSignal): Promise<void> {
      let pauseMs: number = rpcWakeReconnectFirstMs;
      while (!signal.aborted) {
        const worked = await listen(signal);
        pauseMs = worked ? rpcWakeReconnectFirstMs : Math.min(pauseMs * 2, rpcWakeReconnectMostMs);
        await pause.wait(jitter(random, pauseMs), signal);
      }
    },
    // The pause before the next connection stays, for nodes that are preferred in turn.
    moveOn(): void {
      if (current && current.node !== preferred()) current.end();
    },
    get subscribed() {
      return subscribed;
    },
  };
}

/** The node takes no more subscribers, or ends the subscription of one that reads too slowly. */
function isError(message: string): boolean {
  const answer = parseJson(message);
  return !isRecord(answer) || "error" in answer;
}
