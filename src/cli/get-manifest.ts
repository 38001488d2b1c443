/** `akash-provider get-manifest`: what a provider runs for a lease, as it was told. */
import type { Command } from "commander";
import { indentedJson, yamlOf } from "./answer-text.ts";
import { leasePath } from "./lease-status.ts";
import { withLessor } from "./reach.ts";
import { type LeaseFlags, leaseFlags, outputFlag, providerCommand } from "./tenant-flags.ts";

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
