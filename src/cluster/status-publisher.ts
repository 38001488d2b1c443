/** Tells the bus how things stand: a change at once, the next one a moment later, and nothing while nothing changes. */
import type { Clock, Timer } from "../runtime/clock.ts";
import { limits } from "../runtime/limits.ts";
import type { ClusterDocument } from "./cluster-status.ts";

interface PublisherDeps {
  readonly read: () => ClusterDocument;
  readonly publish: (document: ClusterDocument) => void;
  readonly clock: Clock;
}

export function createStatusPublisher({ read, publish, clock }: PublisherDeps) {
  let pause: Timer | undefined;
  let isOwed = false;
  let told = "";
  let lookOut = lookSoon();

  function tell(): void {
    isOwed = false;
    const document = read();
    // Its age grows all the time; that is no news.
    const { ageMs: _, ...rest } = document;
    const text = JSON.stringify(rest);
    if (text !== told) publish(document);
    told = text;
    pause = clock.timer(limits.clusterStatusEveryMs, () => {
      pause = undefined;
      if (isOwed) tell();
    });
  }

  function changed(): void {
    isOwed = true;
    // After the turn in which it changed: several changes of one turn are one.
    pause ??= clock.timer(0, tell);
  }

  /** Nobody says so when a picture has become too old. */
  function lookSoon(): Timer {
    return clock.timer(limits.clusterStatusLookMs, () => {
      changed();
      lookOut = lookSoon();
    });
  }

  return {
    changed,
    stop(): void {
      pause?.cancel();
      lookOut.cancel();
    },
  };
}
