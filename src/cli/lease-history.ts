/** `akash-provider lease history`: what happened to a lease, from the journal. */
import { type Command, Option } from "commander";
import type { Told } from "../bidengine/questions.ts";
import { historyOf, type LeaseOccurrence, leaseNamed } from "../cluster/occurrences/lease-history.ts";
import { formatTime } from "../runtime/clock.ts";
import { leaseHistoryMostLines } from "../runtime/limits.ts";
import { askingCommand, complain, type OutputOptions, openAsker, print, printJson, wholeNumber } from "./asking.ts";
import { aligned } from "./columns.ts";

/** Lines of a lease's history that a command shows unless told otherwise, and at most: all that there can be. */
const leaseHistoryLines = 100;

interface HistoryOptions extends OutputOptions {
  readonly limit: number;
}

const help = `
<lease> is <owner>/<dseq>/<gseq>/<oseq>/<provider>; the last part may be left out.
What happened more than once is one line, with when it happened last and first, and how often. It is read from the journal,
with and without a running provider, also of leases that are gone; what the cluster says is kept for 30 days, what the
provider did for 90.`;

export function leaseHistoryCommand(): Command {
  const command = askingCommand("history <lease>", "show what happened to a lease, the newest last")
    .addOption(
      new Option("--limit <number>", "the newest so many")
        .argParser(wholeNumber(leaseHistoryMostLines))
        .default(leaseHistoryLines),
    )
    .addHelpText("after", help);
  return command.action((id: string, { limit, json }: HistoryOptions, given: Command) => {
    const history = openAsker(given).readJournal((read) => {
      const lease = leaseNamed(read, id);
      return lease === undefined ? [] : historyOf(read, lease, limit);
    });
    if (json) return history.forEach(printJson);
    if (history.length === 0) return complain(`nothing is written down about a lease ${id}`);
    print(historyRows(history));
  });
}

function historyRows(history: readonly Told<LeaseOccurrence>[]): string[] {
  const heading = ["LAST", "FIRST", "COUNT", "TYPE", "REASON", "ABOUT", "WHAT"];
  const rows = history.map(({ atMs, firstAtMs, count, type, reason, object, note }) => [
    showTime(atMs),
    count === 1 ? "" : showTime(firstAtMs),
    count === 1 ? "" : `${count}`,
    ...[type, reason, object, note],
  ]);
  return aligned(heading, rows);
}

function showTime(ms: number): string {
  return formatTime(ms).replace(/\.\d+Z$/, "Z");
}
