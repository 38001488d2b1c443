/** `akash-provider lease`: close and reclaim end a lease, at once or after its tenant's notice; the others have files of their own. */
import { Command, Option } from "commander";
import type { JsonOf } from "../bidengine/control-handlers.ts";
import type { CloseReason } from "../chain/closing.ts";
import { historyOf, type LeaseEvent, leaseNamed } from "../cluster/leases/events/lease-history.ts";
import type { Closing } from "../cluster/leases/lease-closing.ts";
import { formatBytes } from "../market/quantity.ts";
import { formatTime } from "../runtime/clock.ts";
import { leaseHistoryMostLines } from "../runtime/limits.ts";
import { aligned } from "./answer-text.ts";
import {
  controlCommand,
  type OutputOptions,
  openControlClient,
  print,
  printError,
  printJson,
  wholeNumber,
} from "./control.ts";
import { refreshCommand } from "./lease-refresh.ts";

interface CloseOptions extends OutputOptions {
  readonly reason: string;
  readonly dryRun: boolean;
}

/** Those that an operator can mean; by name, since their numbers would bring all of the chain's messages along. */
const reasons = ["unstable", "decommission", "unspecified"] as const satisfies CloseReason[];

export function leaseCommand(): Command {
  return new Command("lease")
    .description("act on one of our leases")
    .addCommand(closeCommand())
    .addCommand(reclaimCommand())
    .addCommand(refreshCommand())
    .addCommand(leaseHistoryCommand());
}

function closeCommand(): Command {
  return endingCommand("close", "closeLease", "end a lease: its workload and its volumes go, and it pays no longer");
}

function reclaimCommand(): Command {
  const description = "tell its tenant that a lease ends: it is closed by itself when the agreed time has passed";
  return endingCommand("reclaim", "reclaimLease", description);
}

function endingCommand(name: string, about: string, description: string): Command {
  const reason = new Option("--reason <reason>", "why, as the tenant reads it on chain")
    .choices(reasons)
    .makeOptionMandatory();
  const command = controlCommand(`${name} <lease>`, description)
    .addOption(reason)
    .option("--dry-run", "say what would be lost, and do nothing", false)
    .addHelpText("after", "\n<lease> is <owner>/<dseq>/<gseq>/<oseq>/<provider>; the last part may be left out");
  return command.action(async (id: string, { reason, dryRun, json }: CloseOptions, given: Command) => {
    const closing = await openControlClient(given).request<Closing>(about, { id, reason, dryRun });
    if (json) return printJson(closing);
    print(closingLines(closing));
  });
}

export function closingLines(closing: JsonOf<Closing>): string[] {
  const { lease, reason, dryRun, underWay, loses, closesAtMs } = closing;
  const { price, namespace, hosts, services, volumes } = loses;
  const verb = dryRun ? "would be" : "is";
  const said =
    closesAtMs === undefined
      ? `the lease ${verb} closed`
      : `its tenant ${verb} told now; the lease is closed by itself about ${formatTime(closesAtMs)}`;
  const head = underWay ? "somebody has ended it already: nothing more is sent" : `${said} (reason: ${reason})`;
  const list = (items: readonly string[], none: string) => (items.length > 0 ? items.join(", ") : none);
  const named = services.map(({ name, count }) => (count === 1 ? name : `${name} ×${count}`));
  const kept = volumes.map(({ service, name, bytes }) => `${name} of ${service} (${formatBytes(BigInt(bytes))})`);
  return [
    `${dryRun && !underWay ? "dry run: " : ""}${head}`,
    `  lease      ${lease}`,
    `  income     ${price} per block`,
    `  services   ${list(named, "none")}`,
    `  hosts      ${list(hosts, "none")}`,
    `  volumes    ${list(kept, "none")}${volumes.length > 0 ? ": what is in them is lost for good" : ""}`,
    `  namespace  ${namespace}`,
  ];
}

// `akash-provider lease history`: what happened to a lease, from the journal.

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

function leaseHistoryCommand(): Command {
  const command = controlCommand("history <lease>", "show what happened to a lease, the newest last")
    .addOption(
      new Option("--limit <number>", "the newest so many")
        .argParser(wholeNumber(leaseHistoryMostLines))
        .default(leaseHistoryLines),
    )
    .addHelpText("after", help);
  return command.action((id: string, { limit, json }: HistoryOptions, given: Command) => {
    const history = openControlClient(given).readJournal((read) => {
      const lease = leaseNamed(read, id);
      return lease === undefined ? [] : historyOf(read, lease, limit);
    });
    if (json) return history.forEach(printJson);
    if (history.length === 0) return printError(`nothing is written down about a lease ${id}`);
    print(historyRows(history));
  });
}

function historyRows(history: readonly JsonOf<LeaseEvent>[]): string[] {
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
