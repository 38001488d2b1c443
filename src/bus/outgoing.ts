/**
 * What waits to be written to Redis, bounded. The last retained value of a topic is never given up: when it is pushed
 * out of the line, or Redis turns out to have lost it, it goes ahead of all the others.
 */
import type { BusLimits } from "./bus.ts";
import { createDropOldest } from "./drop-oldest.ts";
import type { Letter } from "./message.ts";
import type { TopicTally } from "./tally.ts";
import type { Topic } from "./topics.ts";

export interface Outgoing {
  push(letter: Letter): void;
  /** Takes the next messages to write; none when nothing waits. They are under way until one of the next two. */
  take(): readonly Letter[];
  /** They are written; the last retained one of each topic got this id. */
  acknowledged(retainedIds: ReadonlyMap<Topic, string>): void;
  /** The connection was lost: what was under way is written again, though Redis may have it already. */
  putBack(): void;
  /** Retained values of ours that Redis has taken, each with the id it got. */
  readonly written: ReadonlyMap<Topic, string>;
  /** Has the retained value of a topic written again. */
  writeAgain(topic: Topic): void;
  /** Drops all that still waits. */
  giveUp(): void;
}

export function createOutgoing(limits: BusLimits, tally: TopicTally): Outgoing {
  const most = { items: limits.busOutgoingMessages, bytes: limits.busOutgoingBytes };
  const line = createDropOldest<Letter>(most, pushedOut);
  /** The last retained value of each topic. */
  const kept = new Map<Topic, Letter>();
  const written = new Map<Topic, string>();
  const ahead = new Map<Topic, Letter>();
  let underWay: Letter[] = [];

  function pushedOut(letter: Letter): void {
    if (kept.get(letter.topic) === letter) ahead.set(letter.topic, letter);
    else tally.of(letter.topic).dropped += 1;
  }

  function shift(): void {
    const [first] = ahead.values();
    if (first) ahead.delete(first.topic);
    const letter = first ?? line.shift();
    if (letter) underWay.push(letter);
  }

  return {
    push(letter) {
      if (letter.retain) {
        if (ahead.delete(letter.topic)) tally.of(letter.topic).dropped += 1;
        kept.set(letter.topic, letter);
        written.delete(letter.topic);
      }
      line.push(letter);
    },
    take() {
      let bytes = 0;
      while (underWay.length < limits.busBatchMessages) {
        const [next = line.peek()] = ahead.values();
        bytes += next?.bytes ?? 0;
        if (!next || (underWay.length > 0 && bytes > limits.busBatchBytes)) break;
        shift();
      }
      return underWay;
    },
    acknowledged(retainedIds) {
      for (const [topic, id] of retainedIds) {
        const letter = kept.get(topic);
        // A newer one may have been published meanwhile.
        if (letter && underWay.includes(letter)) written.set(topic, id);
      }
      underWay = [];
    },
    putBack() {
      line.putBack(underWay);
      underWay = [];
    },
    written,
    writeAgain(topic) {
      const letter = kept.get(topic);
      if (letter && written.delete(topic)) ahead.set(topic, letter);
    },
    giveUp() {
      kept.clear();
      while (line.size > 0 || ahead.size > 0) shift();
      for (const { topic } of underWay) tally.of(topic).dropped += 1;
      underWay = [];
    },
  };
}
