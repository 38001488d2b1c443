/** `akash-provider register`: puts what provider.yaml says about the provider on the chain. */
import { Command } from "commander";
import { packMessage } from "../chain/tx/messages.ts";
import { settingsCommand } from "../config/options.ts";
import { installDefinitions } from "../kube/definitions.ts";
import { createHttpKube } from "../kube/http/http-kube.ts";
import { kinds } from "../kube/kinds.ts";
import { realClock } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { silentLog } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import { openWallet, printSent, withNodes } from "./client.ts";
import { kubeconfigOf, takeSettings } from "./settings.ts";

export function registerCommand(): Command {
  const description = "register the provider on the chain, or bring its entry up to date, as provider.yaml says";
  return settingsCommand("client", "register", description).action((_, given: Command) =>
    withNodes(given, async (connection) => {
      const { hostUri: host, attributes, info } = connection.config.values;
      if (host === undefined) {
        throw new ProviderError("AKP_SETTING_MISSING", {
          what: "nothing says where tenants reach this provider",
          hint: "Write `host: https://provider.example.com:8443` into a provider.yaml and name that with --provider-config.",
        });
      }
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

/** `akash-provider install`: puts into a cluster what must be there before a provider runs in it. */
export function installCommand(): Command {
  const description = "define the network's custom resources in the cluster, and make the namespace that they live in";
  const crds = settingsCommand("install", "crds", description)
    .option("--dry-run", "ask the cluster what would be written, and write nothing")
    .action((options: { readonly dryRun?: boolean }, given: Command) => installCrds(given, options.dryRun === true));
  return new Command("install").description("put into a cluster what a provider needs there").addCommand(crds);
}

async function installCrds(given: Command, dryRun: boolean): Promise<void> {
  const settings = takeSettings(given);
  const { values, warnings } = settings;
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  const kubeconfig = kubeconfigOf(settings);
  const deps = { clock: realClock, random: realRandom, log: silentLog };
  const kube = createHttpKube({ fieldManager: "akash-provider-install", kubeconfig, environment: process.env }, deps);
  const say = (what: string, { written, warnings }: { written: boolean; warnings: readonly string[] }) => {
    for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
    const outcome = written ? (dryRun ? "would be written" : "written") : "as it should be";
    process.stdout.write(`${what}  ${outcome}\n`);
  };
  try {
    for (const each of await installDefinitions(kube, realClock, { dryRun })) say(`crd ${each.name}`, each);
    const name = values.k8sManifestNamespace;
    say(`namespace ${name}`, await kube.apply(kinds.namespace, { metadata: { name } }, { dryRun }));
  } finally {
    await kube.close();
  }
}
