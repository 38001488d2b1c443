/** `akash-provider lease-status` and `service-status`: how what a tenant leased is doing. */
import type { Command } from "commander";
import { indentedJson, yamlOf } from "./answer-text.ts";
import { withLessor } from "./reach.ts";
import {
  type GroupFlags,
  groupFlags,
  type LeaseFlags,
  leaseFlags,
  outputFlag,
  providerCommand,
  serviceFlag,
} from "./tenant-flags.ts";

export function leaseStatusCommand(): Command {
  const command = providerCommand(
    "lease-status",
    "ask the provider of a lease how its services are doing",
    leaseFlags(),
  );
  return command.action((flags: LeaseFlags, given: Command) => print(flags, "/status", given));
}

export function serviceStatusCommand(): Command {
  const options = [serviceFlag(), ...leaseFlags()];
  const command = providerCommand(
    "service-status",
    "ask the provider of a lease how one of its services is doing",
    options,
  );
  return command.action((flags: LeaseFlags & { readonly service: string }, given: Command) =>
    print(flags, `/service/${encodeURIComponent(flags.service)}/status`, given),
  );
}

function print(flags: LeaseFlags, path: string, given: Command): Promise<void> {
  return withLessor(flags, given, async ({ client }) => {
    process.stdout.write(indentedJson(await client.ask({ method: "GET", path: `${leasePath(flags)}${path}` })));
  });
}

export function leasePath({ dseq, gseq, oseq }: LeaseFlags): string {
  return `/lease/${dseq}/${gseq}/${oseq}`;
}

/** `akash-provider get-manifest`: what a provider runs for a lease, as it was told. */
interface ManifestFlags extends LeaseFlags {
  readonly output: "yaml" | "json";
}

export function getManifestCommand(): Command {
  const options = [...leaseFlags(), outputFlag("yaml", "json")];
  const command = providerCommand("get-manifest", "ask the provider of a lease for its manifest", options);
  return command.action((flags: ManifestFlags, given: Command) =>
    withLessor(flags, given, async ({ client }) => {
      const json = await client.ask({ method: "GET", path: `${leasePath(flags)}/manifest` });
      process.stdout.write(flags.output === "json" ? indentedJson(json) : yamlOf(json));
    }),
  );
}

/** `akash-provider migrate-hostnames` and `migrate-endpoints`: gives a deployment names that another one of its owner has. */
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
