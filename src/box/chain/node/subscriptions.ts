import type { EventFeed, FeedEvent } from "./event-feed.ts";
import { failure } from "./json-rpc.ts";
import { NodeError } from "./node-error.ts";
import { chainQueryChars, checkedQuery, type EventQuery } from "./query-language.ts";
import { type Methods, type RequestId, type Subscriber, socketMethod } from "./rpc-methods/method.ts";
import type { SendQueue } from "./send-queue.ts";

export const chainSubscribers = 100;
export const chainSubscriptionsPerClient = 5;

interface Subscriptions extends Subscriber {
  readonly size: number;
  end(): void;
}

/** `subscribers` counts the clients with a subscription, this one included. */
export function createSubscriptions(
  feed: EventFeed,
  queue: Pick<SendQueue, "send" | "full">,
  subscribers: () => number,
): Subscriptions {
  const active = new Map<string, () => void>();

  function deliver(query: EventQuery, source: string, id: RequestId, { data, events }: FeedEvent): void {
    if (queue.full) {
      cancel(query);
      const reason = "subscription was canceled (reason: client is not pulling messages fast enough)";
      queue.send(JSON.stringify(failure(id, -32000, "Server error", reason)));
      return;
    }
    const result = `{"query":${JSON.stringify(source)},"data":${data},"events":${events}}`;
    queue.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
  }

  function cancel(query: EventQuery): void {
    active.get(query.text)?.();
    active.delete(query.text);
  }

  function end(): void {
    for (const unsubscribe of active.values()) unsubscribe();
    active.clear();
  }

  return {
    subscribe(source, id) {
      if (active.size === 0 && subscribers() >= chainSubscribers) {
        throw new NodeError(`max_subscription_clients ${chainSubscribers} reached`);
      }
      if (active.size >= chainSubscriptionsPerClient) {
        throw new NodeError(`max_subscriptions_per_client ${chainSubscriptionsPerClient} reached`);
      }
      const query = parsed(source);
      if (active.has(query.text)) throw new NodeError("already subscribed");
      const unsubscribe = feed.subscribe(query, (event) => deliver(query, source, id, event));
      active.set(query.text, unsubscribe);
    },
    unsubscribe(source) {
      const query = parsed(source);
      if (!active.has(query.text)) throw new NodeError("subscription not found");
      cancel(query);
    },
    unsubscribeAll() {
      if (active.size === 0) throw new NodeError("subscription not found");
      end();
    },
    get size() {
      return active.size;
    },
    end,
  };
}

function parsed(source: string): EventQuery {
  try {
    return checkedQuery(source);
  } catch (thrown) {
    if (source.length > chainQueryChars || !(thrown instanceof NodeError)) throw thrown;
    throw new NodeError(`failed to parse query: ${thrown.message}`);
  }
}

export const subscriptionMethods: Methods = {
  subscribe: socketMethod({ query: "text" }, ({ query }, subscriber, id) => subscriber.subscribe(query, id)),
  unsubscribe: socketMethod({ query: "text" }, ({ query }, subscriber) => subscriber.unsubscribe(query)),
  unsubscribe_all: socketMethod({}, (_, subscriber) => subscriber.unsubscribeAll()),
};
