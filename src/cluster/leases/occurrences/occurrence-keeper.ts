/** Keeps what happens to our leases in the cluster, and tells whoever listens. */
import { hostname } from "node:os";
import type { Chain } from "../../../chain/chain.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { OccurrenceRow } from "../../../journal/occurrences.ts";
import { createEventRecorder } from "../../../kube/event-recorder.ts";
import type { Kube } from "../../../kube/kube.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { Scope } from "../../../runtime/lifecycle.ts";
import { leaseHistoryMostLines } from "../../../runtime/limits.ts";
import { createListeners } from "../../../runtime/listeners.ts";
import type { Log } from "../../../runtime/log.ts";
import type { Random } from "../../../runtime/random.ts";
import type { HealthView } from "../../health/lease-health.ts";
import type { LiveObjects } from "../live-objects.ts";
import { createJudgements } from "./judgements.ts";
import { type Tell, tellAbout } from "./lease-events.ts";
import { deedOf, historyOf, isForTenant, type LeaseOccurrence, occurrenceOf, ourselves } from "./lease-history.ts";
import { createWatchedEvents } from "./watched-events.ts";

type OccurrenceListener = (occurrence: LeaseOccurrence) => void;

interface OccurrenceKeeperDeps {
  readonly chain: Pick<Chain, "onStep">;
  readonly kube: Pick<Kube, "watch" | "apply" | "fieldManager">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly live: LiveObjects;
  readonly health: HealthView;
  /** Whose namespace it is; undefined where it is none of our leases'. */
  readonly leaseIn: (namespace: string) => string | undefined;
  /** Why it is not known yet which namespaces are whose. */
  readonly trouble: () => string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export type OccurrenceKeeper = ReturnType<typeof createOccurrenceKeeper>;

export function createOccurrenceKeeper(deps: OccurrenceKeeperDeps) {
  const { chain, kube, journal, live, leaseIn, trouble, clock, log } = deps;
  /** By lease. */
  const listeners = createListeners<OccurrenceListener>();
  const onOccurrence = (leaseKey: string, occurrence: LeaseOccurrence) => {
    for (const listener of listeners.of(leaseKey)) {
      try {
        listener(occurrence);
      } catch (thrown) {
        log.error("failed to tell of an occurrence", { lease: leaseKey, error: ProviderError.from(thrown) });
      }
    }
  };
  const onRow = (row: OccurrenceRow) => onOccurrence(row.leaseId, occurrenceOf(row));
  const { reportingController: controller } = ourselves;
  const recorder = createEventRecorder({ controller, instance: hostname() }, deps);
  const tell = tellAbout(live, recorder);
  const judgements = createJudgements({ ...deps, tell, onRow });
  const deeds = createToldDeeds({ journal, tell, onOccurrence });
  const watched = createWatchedEvents({ kube, journal, clock, log, leaseIn, trouble, controller, onRow });

  return {
    counts: watched.counts,
    recorded: recorder.counts,
    queues: [recorder.queue, judgements.queue],
    /** What its tenant may read, the newest last. */
    of: (leaseKey: string): LeaseOccurrence[] => historyOf(journal.read, leaseKey, leaseHistoryMostLines, isForTenant),
    /** Told of every change of this lease, also of a count; the answer ends it. */
    onOccurrence: listeners.on,
    open(scope: Scope): void {
      // Whatever part of us did it has written it down; a block comes every few seconds.
      chain.onStep(deeds.look);
      scope.task("events of the cluster", watched.run);
      scope.task("judgements", judgements.queue.run);
      scope.task("events of ours", recorder.run);
    },
  };
}

// What we did with leases, told when it is written down: whichever part of us did it has put a line into the history.

/** Lines of the history that are told at once; the others with the next block. */
const deedsTold = 100;

interface DeedDeps {
  readonly journal: Pick<Journal, "read">;
  readonly tell: Tell;
  readonly onOccurrence: (leaseId: string, occurrence: LeaseOccurrence) => void;
}

function createToldDeeds({ journal, tell, onOccurrence }: DeedDeps) {
  const { history } = journal.read;
  /** What was done before our time was told by whoever did it. */
  let toldId = history.recent(1)[0]?.id ?? 0;

  return {
    look(): void {
      for (const line of history.since(toldId, deedsTold)) {
        toldId = line.id;
        if (!isForTenant(line)) continue;
        const deed = deedOf(line);
        const { type, reason, note } = deed;
        // That a manifest came is nothing that happened in the cluster.
        if (line.kind === "lease") tell(line.subject, { type, reason, action: "Keep", note });
        onOccurrence(line.subject, deed);
      }
    },
  };
}
