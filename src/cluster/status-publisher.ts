/** Tells the bus how things stand: a change at once, the next one a moment later, and nothing while nothing changes. */
import { atMostEvery } from "../runtime/at-most-every.ts";
import type { Clock, Timer } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";
import { statusEveryMs } from "../runtime/limits.ts";
import type { ClusterDocument } from "./cluster-status.ts";

/** How often it is looked whether a picture has become too old, which nobody tells: two minutes are the bound. */
export const clusterStatusLookMs = 10 * second;

interface PublisherDeps {
  readonly read: () => ClusterDocument;
  readonly publish: (document: ClusterDocument) => void;
  readonly clock: Clock;
}

export function createStatusPublisher({ read, publish, clock }: PublisherDeps) {
  let told = "";
  const paced = atMostEvery(statusEveryMs, clock, () => {
    const document = read();
    // Its age grows all the time; that is no news.
    const { ageMs: _, ...rest } = document;
    const text = JSON.stringify(rest);
    if (text !== told) publish(document);
    told = text;
  });
  let lookOut = lookSoon();

  /** Nobody says so when a picture has become too old. */
  function lookSoon(): Timer {
    return clock.timer(clusterStatusLookMs, () => {
      paced.ask();
      lookOut = lookSoon();
    });
  }

  return {
    changed: paced.ask,
    stop(): void {
      paced.stop();
      lookOut.cancel();
    },
  };
}
