/** The journal as a service: opened first, closed last, and the process ends when its storage dies. */
import { type ResourceService, untilAborted } from "../runtime/lifecycle.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Journal } from "./journal.ts";
import { type JournalDeps, openJournal } from "./open.ts";
import type { Keep } from "./retention.ts";

type JournalServiceDeps = Pick<Required<JournalDeps>, "boundary" | "clock" | "chainNowMs" | "log">;

export function createJournalService(dir: string, deps: JournalServiceDeps, keep: Keep = {}): ResourceService<Journal> {
  const { promise: opened, resolve } = Promise.withResolvers<Journal>();
  let journal: Journal | undefined;
  return {
    name: "journal",
    // A large file that was not closed is checked first, page by page.
    waitsForOthers: true,
    async start(scope) {
      const log = deps.log.with({ module: "journal" });
      const { journal: own } = await openJournal({ ...deps, dir, log, keep, signal: scope.signal });
      scope.onStop(() => own.close());
      const death = own.died.then((error): never => {
        throw error;
      });
      scope.task("storage", (signal) => Promise.race([untilAborted(signal), death]));
      journal = own;
      resolve(own);
    },
    opened,
    detail: () => (journal ? `${dir}, ${journal.counts.commits} commits` : dir),
    measure: (metrics) => journal && measureJournal(metrics, journal),
  };
}

function measureJournal(metrics: Metrics, journal: Journal): void {
  metrics.readEach("counter", "akash_provider_journal", [
    ["commits", "Transactions committed", () => journal.counts.commits],
    ["units", "Units of work written", () => journal.counts.units],
    ["failed_units", "Units of work that failed", () => journal.counts.failed],
  ]);
  metrics.readEach("gauge", "akash_provider_journal", [
    ["bytes", "Size of the journal on disk", () => journal.bytes()],
    ["waiting_units", "Units of work waiting for their commit", () => journal.counts.waiting],
    ["sync_seconds", "Duration of the last durable commit", () => journal.counts.syncLastMs / 1_000],
    ["sync_most_seconds", "Duration of the slowest durable commit", () => journal.counts.syncMostMs / 1_000],
  ]);
  metrics.read({ name: "akash_provider_journal_rows", help: "Rows by table", kind: "gauge", labels: ["table"] }, () =>
    Object.entries(journal.rows()).map(([table, rows]) => [{ table }, rows]),
  );
}
