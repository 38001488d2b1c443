/** What went through a bus, by topic, for metrics and the live view. */
import { invariant } from "../runtime/invariant.ts";
import { streamOf } from "./topics.ts";

export interface TopicCounts {
  published: number;
  /** Handler calls that ended, with an error or without. */
  delivered: number;
  /** Messages that somebody did not get: too slow, Redis away for too long, or trimmed away before we read them. */
  dropped: number;
  /** Handler calls that threw. */
  failed: number;
  /** Messages from outside that made no sense. */
  malformed: number;
  /** A value is kept for new subscribers, as far as this process knows. */
  retained: boolean;
}

export interface TopicTally {
  /** Counts of a topic that came from outside. Beyond the bound a topic is counted under the name of its family. */
  of(topic: string): TopicCounts;
  /** Counts of a topic that we publish on, of which there is never one per lease or order. */
  own(topic: string): TopicCounts;
  readonly all: ReadonlyMap<string, TopicCounts>;
}

export function createTopicTally(mostTopics: number): TopicTally {
  const all = new Map<string, TopicCounts>();

  function of(topic: string): TopicCounts {
    const known = all.get(topic);
    if (known) return known;
    const stream = streamOf(topic) ?? topic;
    if (all.size >= mostTopics && stream !== topic) return of(stream);
    const fresh = { published: 0, delivered: 0, dropped: 0, failed: 0, malformed: 0, retained: false };
    all.set(topic, fresh);
    return fresh;
  }

  return {
    of,
    own(topic) {
      const room = all.has(topic) || all.size < mostTopics;
      invariant(room, "keys travel in the data of a message, not in the name of its topic", { topic, mostTopics });
      return of(topic);
    },
    all,
  };
}
