/** `akash-provider status`: what a provider says of itself to everybody. */
import type { Command } from "commander";
import { parseAddress } from "../market/address.ts";
import { indentedJson } from "./answer-text.ts";
import { withProvider } from "./reach.ts";
import { type ProviderFlags, parsed, providerCommand, providerFlag, whereFlags } from "./tenant-flags.ts";

export function statusCommand(): Command {
  const options = [providerFlag().hideHelp(), ...whereFlags()];
  const command = providerCommand("status [address]", "ask a provider for its status; needs no key", options);
  return command.action(async (address: string | undefined, flags: ProviderFlags, given: Command) => {
    const provider = address === undefined ? flags.provider : parsed(parseAddress)(address);
    await withProvider({ ...flags, ...(provider && { provider }) }, given, async ({ client }) => {
      process.stdout.write(indentedJson(await client.ask({ method: "GET", path: "/status" })));
    });
  });
}
