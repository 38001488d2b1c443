/** `akash-provider leases`: what runs for whom, and how it stands. */
import type { Command } from "commander";
import type { Told } from "../bidengine/questions.ts";
import { readLeases } from "../cluster/leases/journaled-leases.ts";
import type { LeaseLine } from "../cluster/leases/lease-lines.ts";
import { formatTime } from "../runtime/clock.ts";
import { askingCommand, complain, type OutputOptions, openAsker, print, printJson } from "./asking.ts";
import { aligned } from "./columns.ts";
import { showAge } from "./order-text.ts";

export function leasesCommand(): Command {
  const command = askingCommand("leases", "show our leases: state, age, namespace and host names").addHelpText(
    "after",
    "\nEnd one of them: akash-provider lease close <lease> --reason <reason> --dry-run",
  );
  return command.action(async ({ json }: OutputOptions, given: Command) => {
    const leases = await openAsker(given).askOrRead("leases", {}, readLeases);
    if (json) return leases.forEach(printJson);
    if (leases.length === 0) return complain("there are no leases");
    print(leaseRows(leases));
  });
}

/** The id is never cut: it is what `lease close` is given. What is wrong stands below the lease that it is about. */
export function leaseRows(leases: readonly Told<LeaseLine>[]): string[] {
  const heading = ["LEASE", "AGE", "STATE", "NAMESPACE", "HOSTS"];
  const cells = leases.map(({ lease, ageMs, state, namespace, hosts }) => [
    lease,
    ageMs === undefined ? "" : showAge(ageMs),
    state,
    namespace,
    hosts.join(" "),
  ]);
  const [head = "", ...rows] = aligned(heading, cells);
  return [head, ...leases.flatMap((lease, at) => [rows[at] ?? "", ...notesOf(lease)])];
}

function notesOf({ why, withheld = [], foreign = [], reclaimedAtMs }: Told<LeaseLine>): string[] {
  return [
    ...(reclaimedAtMs === undefined ? [] : [`reclaiming until ${formatTime(reclaimedAtMs)}, then it is closed`]),
    ...(why === undefined ? [] : [why]),
    ...withheld.map((each) => `withheld: ${each}`),
    ...(foreign.length === 0 ? [] : [`left alone, not made by us: ${foreign.join(", ")}`]),
  ].map((line) => `  ${line}`);
}
