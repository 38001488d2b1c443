/** The bus inside one process; redis.ts connects several. */
import { ProviderError, reasonOf } from "../runtime/errors.ts";
import { invariant } from "../runtime/invariant.ts";
import { createMailbox, type Mailbox } from "../runtime/mailbox.ts";
import { once } from "../runtime/memoize.ts";
import { parseJson } from "../runtime/parse-json.ts";
import { type Bus, type BusOptions, busLimits, type Message, type TopicCounts } from "./bus.ts";
import { type Payload, payloadProblem, type Topic, topics, topicsMatching } from "./topics.ts";

type Envelope = Pick<Message, "topic" | "retained"> & { readonly text: string };

export const createMemoryBus = (options: BusOptions): Bus => createLocalBus(options, "{");

/** With what its connection to other processes needs. Messages of this process begin with `start`. */
export function createLocalBus({ clock, log, ...options }: BusOptions, start: string) {
  const limits = { ...busLimits, ...options.limits };
  const counts = new Map<Topic, TopicCounts>();
  /** The last value of each retained topic, whichever process published it. */
  const kept = new Map<Topic, string>();
  const subscribers = new Map<Mailbox<Envelope>, ReadonlySet<Topic>>();

  function countsOf(topic: Topic): TopicCounts {
    const known = counts.get(topic) ?? { published: 0, delivered: 0, dropped: 0, failed: 0, malformed: 0 };
    counts.set(topic, known);
    return known;
  }

  function deliver(topic: Topic, text: string, retained: boolean): void {
    if (topics[topic].retained && text.length <= limits.messageBytes) kept.set(topic, text);
    for (const [mailbox, wanted] of subscribers) if (wanted.has(topic)) mailbox.offer({ topic, text, retained });
  }

  /** The text of the message, by which it goes to other processes. */
  function publish<T extends Topic>(topic: T, data: Payload<T>): string {
    const problem = Object.hasOwn(topics, topic) ? payloadProblem(topic, data) : "there is no such topic";
    invariant(!problem, "a message has the form that topics.ts gives its topic", { topic, problem });
    const text = `${start}"publishedAtMs":${clock.now()},"data":${JSON.stringify(data)}}`;
    const [bytes, limit] = [Buffer.byteLength(text), limits.messageBytes];
    if (bytes > limit) throw new ProviderError("AKP_BUS_MESSAGE_TOO_LARGE", { topic, bytes, limit });
    countsOf(topic).published += 1;
    deliver(topic, text, false);
    return text;
  }

  const subscribe: Bus["subscribe"] = (patterns, handler, name) => {
    const found = [patterns].flat().map(topicsMatching);
    invariant(!found.some(({ length }) => length === 0), "a pattern matches a topic of topics.ts", { patterns });
    const wanted = new Set(found.flat());
    const mailbox = createMailbox<Envelope>({
      most: { messages: limits.subscriberMessages, size: limits.subscriberChars },
      sizeOf: ({ text }) => text.length,
      handle(envelope) {
        countsOf(envelope.topic).delivered += 1;
        return handler(openMessage(envelope, limits.messageBytes) as Parameters<typeof handler>[0]);
      },
      onError(error, { topic }) {
        const malformed = ProviderError.is(error, "AKP_BUS_MESSAGE_MALFORMED");
        const first = countsOf(topic).malformed === 0;
        if (!malformed) log.error("bus subscriber failed", { subscriber: name, topic, reason: reasonOf(error) });
        // Once per topic: a program that publishes malformed messages publishes many.
        else if (first) log.error("malformed bus message", { error });
        countsOf(topic)[malformed ? "malformed" : "failed"] += 1;
      },
      onDrop({ topic }) {
        countsOf(topic).dropped += 1;
      },
    });
    subscribers.set(mailbox, wanted);
    for (const [topic, text] of kept) if (wanted.has(topic)) mailbox.offer({ topic, text, retained: true });
    return {
      close() {
        mailbox.close();
        subscribers.delete(mailbox);
      },
      get dropped() {
        return mailbox.dropped;
      },
    };
  };

  async function close(): Promise<void> {
    for (const mailbox of subscribers.keys()) mailbox.close();
    subscribers.clear();
  }

  const state = { connected: true, detail: "memory" };
  return { limits, kept, countsOf, deliver, publish, subscribe, state, counts, close };
}

function openMessage({ topic, text, retained }: Envelope, messageBytes: number): Message {
  const content = once(() => {
    const parsed = text.length > messageBytes ? undefined : parseJson(text);
    const { publishedAtMs = 0, data } = (parsed ?? {}) as Partial<Pick<Message, "publishedAtMs" | "data">>;
    const reason = payloadProblem(topic, data);
    if (!data || reason) throw new ProviderError("AKP_BUS_MESSAGE_MALFORMED", { topic, reason: `${reason}` });
    return { publishedAtMs, data };
  });
  return {
    topic,
    retained,
    get publishedAtMs() {
      return content().publishedAtMs;
    },
    get data() {
      return content().data;
    },
  };
}
