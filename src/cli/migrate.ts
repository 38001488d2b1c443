/** `akash-provider migrate-hostnames` and `migrate-endpoints`: gives a deployment names that another one of its owner has. */
import type { Command } from "commander";
import { withLessor } from "./reach.ts";
import { type GroupFlags, groupFlags, providerCommand } from "./tenant-flags.ts";

export function migrateHostnamesCommand(): Command {
  const text = "move host names from other deployments of yours to this one; its manifest must name them";
  return providerCommand("migrate-hostnames <host...>", text, groupFlags()).action(
    (hosts: readonly string[], flags: GroupFlags, given: Command) =>
      migrate("/hostname/migrate", { hostnames_to_migrate: hosts }, flags, given),
  );
}

export function migrateEndpointsCommand(): Command {
  const text = "move leased IP addresses, by the names of their endpoints, from other deployments of yours to this one";
  return providerCommand("migrate-endpoints <name...>", text, groupFlags()).action(
    (names: readonly string[], flags: GroupFlags, given: Command) =>
      migrate("/endpoint/migrate", { endpoints_to_migrate: names }, flags, given),
  );
}

function migrate(path: string, what: object, flags: GroupFlags, given: Command): Promise<void> {
  const { dseq, gseq } = flags;
  // A number of the chain has more digits than a number of JavaScript.
  const rest = `"destination_dseq":${dseq},"destination_gseq":${gseq}}`;
  const body = `${JSON.stringify(what).slice(0, -1)},${rest}`;
  return withLessor(flags, given, async ({ client }) => {
    await client.ask({ method: "POST", path, body });
  });
}
