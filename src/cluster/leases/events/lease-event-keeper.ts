/** Keeps what happens to our leases in the cluster, writes Events of our own, and notifies clients that follow a lease. */
import { hostname } from "node:os";
import type { Chain } from "../../../chain/chain.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { OccurrenceRow } from "../../../journal/occurrences.ts";
import { createEventRecorder } from "../../../kube/event-recorder.ts";
import type { Kube } from "../../../kube/kube.ts";
import type { RuntimeDeps } from "../../../runtime/deps.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { Scope } from "../../../runtime/lifecycle.ts";
import { leaseHistoryMostLines } from "../../../runtime/limits.ts";
import { createListeners } from "../../../runtime/listeners.ts";
import type { HealthView } from "../../health/lease-health.ts";
import type { LiveObjects } from "../live-objects.ts";
import { createHealthEvents, eventsAbout } from "./health-events.ts";
import { historyEvent, historyOf, isForTenant, type LeaseEvent, ourselves, toLeaseEvent } from "./lease-history.ts";
import { createWatchedEvents } from "./watched-events.ts";

/** Lines of the history that are published at once; the others with the next block. */
const publishedLines = 100;

interface LeaseEventKeeperDeps extends RuntimeDeps {
  readonly chain: Pick<Chain, "onStep">;
  readonly kube: Pick<Kube, "watch" | "apply" | "fieldManager">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly live: LiveObjects;
  readonly health: HealthView;
  /** Whose namespace it is; undefined where it is none of our leases'. */
  readonly leaseIn: (namespace: string) => string | undefined;
  /** Why it is not known yet which namespaces are whose. */
  readonly cacheError: () => string | undefined;
}

export type LeaseEventKeeper = ReturnType<typeof createLeaseEventKeeper>;

export function createLeaseEventKeeper(deps: LeaseEventKeeperDeps) {
  const { chain, journal, live, log } = deps;
  const { history } = journal.read;
  /** By lease. */
  const listeners = createListeners<(event: LeaseEvent) => void>();
  const publish = (lease: string, event: LeaseEvent) => {
    for (const listener of listeners.of(lease)) {
      try {
        listener(event);
      } catch (thrown) {
        log.error("failed to notify a listener of a lease event", { lease, error: ProviderError.from(thrown) });
      }
    }
  };
  const onRow = (row: OccurrenceRow) => publish(row.leaseId, toLeaseEvent(row));
  const { reportingController: controller } = ourselves;
  const recorder = createEventRecorder({ controller, instance: hostname() }, deps);
  const recordEvent = eventsAbout(live, recorder);
  const healthEvents = createHealthEvents({ ...deps, recordEvent, onRow });
  const watched = createWatchedEvents({ ...deps, controller, onRow });
  /** What was done before our start was published by the process that did it. */
  let publishedId = history.recent(1)[0]?.id ?? 0;

  function publishHistory(): void {
    for (const line of history.since(publishedId, publishedLines)) {
      publishedId = line.id;
      if (!isForTenant(line)) continue;
      const event = historyEvent(line);
      const { type, reason, note } = event;
      // That a manifest came is nothing that happened in the cluster.
      if (line.kind === "lease") recordEvent(line.subject, { type, reason, action: "Keep", note });
      publish(line.subject, event);
    }
  }

  return {
    counts: watched.counts,
    recorded: recorder.counts,
    queues: [recorder.queue, healthEvents.queue],
    /** What its tenant may read, the newest last. */
    of: (leaseKey: string): LeaseEvent[] => historyOf(journal.read, leaseKey, leaseHistoryMostLines, isForTenant),
    /** Called with every change of this lease, also of a count; the answer ends it. */
    onEvent: listeners.on,
    open(scope: Scope): void {
      // Every part of us writes into the history; a block comes every few seconds.
      chain.onStep(publishHistory);
      scope.task("events of the cluster", watched.run);
      scope.task("judgements", healthEvents.queue.run);
      scope.task("events of ours", recorder.run);
    },
  };
}
