/** `akash-provider reconcile`: whether chain, cluster and journal agree about our leases, and in what they do not. */
import type { Command } from "commander";
import type { JsonOf } from "../bidengine/control-handlers.ts";
import type { Report } from "../cluster/leases/reconcile/reconciler.ts";
import { findingExitCode } from "../runtime/catalogue/entry.ts";
import { aligned } from "./answer-text.ts";
import { controlCommand, type OutputOptions, openControlClient, print, printError, printJson } from "./control.ts";
import { showAge } from "./order-text.ts";

interface ReconcileOptions extends OutputOptions {
  readonly dryRun: boolean;
}

export function reconcileCommand(): Command {
  const command = controlCommand(
    "reconcile",
    "compare chain, cluster and journal: which leases are not what they should be",
  )
    .option("--dry-run", "only tell; without it, what is to look after a difference is woken", false)
    .addHelpText(
      "after",
      `\nEnds with 0 where all three agree, with ${findingExitCode} where they do not, and with another where that cannot be told.` +
        "\nNothing is deleted or written by it: that is up to the loop of each lease, which needs the chain's proof.",
    );
  return command.action(async ({ json, dryRun }: ReconcileOptions, given: Command) => {
    const report = await openControlClient(given).request<Report>("reconcile", { dryRun });
    if (json) printJson(report);
    else print(reportLines(report));
    if (report.drifts.length > 0) process.exitCode = findingExitCode;
    if (report.unasked > 0)
      printError(`${report.unasked} leases were not asked about: too many are left at once; ask again`);
  });
}

export function reportLines({ atMs, height, dryRun, compared, drifts, more }: JsonOf<Report>): string[] {
  const { leases, namespaces, resources, manifests, reservations } = compared;
  const counts = `${leases} leases at height ${height}, ${namespaces} namespaces, ${resources} Manifest resources, ${manifests} manifests, ${reservations} reservations`;
  if (drifts.length === 0) return [`chain, cluster and journal agree: ${counts}`];
  const rows = drifts.map(({ kind, sinceMs, subject }) => [kind, showAge(atMs - sinceMs), subject]);
  const [head = "", ...lines] = aligned(["DRIFT", "AGE", "SUBJECT"], rows);
  return [
    head,
    ...drifts.flatMap(({ evidence, remedy }, at) => [lines[at] ?? "", `  ${evidence}`, `  ${remedy}`]),
    ...(more > 0 ? [`and ${more} more`] : []),
    `${dryRun ? "dry run, nobody was woken: " : ""}${drifts.length + more} differences among ${counts}`,
  ];
}
