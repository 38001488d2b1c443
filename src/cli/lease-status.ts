/** `akash-provider lease-status` and `service-status`: how what a tenant leased is doing. */
import type { Command } from "commander";
import { indentedJson } from "./answer-text.ts";
import { withLessor } from "./reach.ts";
import { type LeaseFlags, leaseFlags, providerCommand, serviceFlag } from "./tenant-flags.ts";

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
