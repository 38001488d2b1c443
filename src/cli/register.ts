/** `akash-provider register`: puts what provider.yaml says about the provider on the chain. */
import { Command } from "commander";
import { packMessage } from "../chain/tx/messages.ts";
import { addSettingOptions } from "../config/options.ts";
import { ProviderError } from "../runtime/errors.ts";
import { openWallet, printSent, withNodes } from "./client.ts";

export function registerCommand(): Command {
  const command = new Command("register").description(
    "register the provider on the chain, or bring its entry up to date, as provider.yaml says",
  );
  addSettingOptions(command, "client");
  return command.action((_, given: Command) =>
    withNodes(given, async (connection) => {
      const { hostUri: host, attributes, info } = connection.config.values;
      if (host === undefined) throw new ProviderError("AKP_PROVIDER_HOST_MISSING", {});
      const { signer, send } = await openWallet(connection);
      const entry = {
        owner: signer.address,
        hostUri: host,
        attributes: attributes.map(({ key, value }) => ({ key, value })),
        info: { email: info?.email ?? "", website: info?.website ?? "" },
      };
      const { value: known } = await connection.queries.provider(signer.address);
      if (known && isSame(known, entry)) {
        process.stdout.write(`${signer.address} is registered as ${host} already; nothing was sent\n`);
        return;
      }
      const sent = await send(packMessage(known ? "updateProvider" : "createProvider", entry));
      printSent(`${signer.address} is ${known ? "up to date" : "registered"} as ${host}`, sent);
    }),
  );
}

interface Entry {
  readonly hostUri: string;
  readonly attributes: readonly { readonly key: string; readonly value: string }[];
  readonly info: { readonly email: string; readonly website: string } | undefined;
}

/** The chain keeps attributes in an order of its own. */
function isSame(known: Entry, wanted: Entry): boolean {
  const text = ({ hostUri, attributes, info }: Entry) =>
    JSON.stringify([hostUri, attributes.map(({ key, value }) => `${key}=${value}`).sort(), info?.email, info?.website]);
  return text(known) === text(wanted);
}
