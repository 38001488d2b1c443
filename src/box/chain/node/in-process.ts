/** The node's RPC within the process: the text that would be on its wire, without the wire. */
import { type RpcTransport, unreachable } from "../../../chain/comet/transport.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { endedBy } from "../../../runtime/ended-by.ts";
import { untilAborted } from "../../../runtime/lifecycle.ts";
import type { EventFeed } from "./event-feed.ts";
import type { JsonRpc } from "./json-rpc.ts";
import { createSubscriptions } from "./subscriptions.ts";

interface InProcess {
  transport(name: string): RpcTransport;
  /** Stops answering calls. */
  stop(): void;
}

export function createInProcess({ rpc, feed, clock }: { rpc: JsonRpc; feed: EventFeed; clock: Clock }): InProcess {
  const stopping = new AbortController();
  const listeners = new Set<object>();

  function transport(name: string): RpcTransport {
    const closing = new AbortController();

    /** As over a wire, nothing has happened yet when the call returns. */
    async function reach(): Promise<void> {
      await clock.yield();
      if (stopping.signal.aborted || closing.signal.aborted) throw unreachable(name, "the connection is closed");
    }

    return {
      name,
      async send({ text }, { signal, onBytes }) {
        await reach();
        signal.throwIfAborted();
        const answer = await endedBy(rpc.overHttp(text), signal);
        onBytes(Buffer.byteLength(answer.body));
        signal.throwIfAborted();
        return answer;
      },
      async listen(text, heard, signal) {
        await reach();
        const ended = AbortSignal.any([signal, stopping.signal, closing.signal]);
        const deliver = async (message: string) => {
          await clock.yield();
          if (!ended.aborted) heard(message);
        };
        const queue = { send: (message: string) => void deliver(message), full: false };
        const subscriptions = createSubscriptions(feed, queue, () => listeners.size);
        listeners.add(subscriptions);
        try {
          const reply = await rpc.overSocket(text, subscriptions);
          if (reply !== undefined) queue.send(reply);
          await untilAborted(ended);
        } finally {
          subscriptions.end();
          listeners.delete(subscriptions);
        }
      },
      close: () => closing.abort(),
    };
  }

  return { transport, stop: () => stopping.abort() };
}
