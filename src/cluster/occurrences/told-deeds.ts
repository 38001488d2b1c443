/** What we did with leases, told when it is written down: whichever part of us did it has put a line into the history. */
import type { Journal } from "../../journal/journal.ts";
import type { Tell } from "./lease-events.ts";
import { deedOf, isForTenant, type LeaseOccurrence } from "./lease-history.ts";

/** Lines of the history that are told at once; the others with the next block. */
const deedsTold = 100;

interface DeedDeps {
  readonly journal: Pick<Journal, "read">;
  readonly tell: Tell;
  readonly onOccurrence: (leaseId: string, occurrence: LeaseOccurrence) => void;
}

export function createToldDeeds({ journal, tell, onOccurrence }: DeedDeps) {
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
