/** `akash-provider lease close`: an operator ends a lease. */
import { Command, Option } from "commander";
import type { Told } from "../bidengine/questions.ts";
import type { CloseReason } from "../chain/tx/closing.ts";
import type { Closing } from "../cluster/leases/lease-closing.ts";
import { formatBytes } from "../market/quantity.ts";
import { askingCommand, type OutputOptions, openAsker, print, printJson } from "./asking.ts";

interface CloseOptions extends OutputOptions {
  readonly reason: string;
  readonly dryRun: boolean;
}

/** Those that an operator can mean; by name, since their numbers would bring all of the chain's messages along. */
const reasons = ["unstable", "decommission", "unspecified"] as const satisfies CloseReason[];

export function leaseCommand(): Command {
  return new Command("lease").description("act on one of our leases").addCommand(closeCommand());
}

function closeCommand(): Command {
  const reason = new Option("--reason <reason>", "why, as the tenant reads it on chain")
    .choices(reasons)
    .makeOptionMandatory();
  const command = askingCommand("close <lease>", "end a lease: its workload and its volumes go, and it pays no longer")
    .addOption(reason)
    .option("--dry-run", "say what would be lost, and do nothing", false)
    .addHelpText("after", "\n<lease> is <owner>/<dseq>/<gseq>/<oseq>/<provider>; the last part may be left out");
  return command.action(async (id: string, { reason, dryRun, json }: CloseOptions, given: Command) => {
    const closing = await openAsker(given).ask<Closing>("closeLease", { id, reason, dryRun });
    if (json) return printJson(closing);
    print(closingLines(closing));
  });
}

export function closingLines({ lease, message, reason, dryRun, underWay, loses }: Told<Closing>): string[] {
  const { price, namespace, hosts, services, volumes } = loses;
  const verb = dryRun ? "would be" : "is";
  const said =
    message === "startReclaim"
      ? `its tenant ${verb} told that the lease will be reclaimed; close it again when the agreed time has passed`
      : `the lease ${verb} closed`;
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
