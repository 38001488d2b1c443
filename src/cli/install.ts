/** `akash-provider install`: puts into a cluster what must be there before a provider runs in it. */
import { Command } from "commander";
import { addSettingOptions } from "../config/options.ts";
import { installDefinitions } from "../kube/definitions.ts";
import { createHttpKube } from "../kube/http/http-kube.ts";
import { kinds } from "../kube/kinds.ts";
import { realClock } from "../runtime/clock.ts";
import { silentLog } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import { kubeconfigOf, takeSettings } from "./settings.ts";

export function installCommand(): Command {
  const crds = new Command("crds")
    .description("define the network's custom resources in the cluster, and make the namespace that they live in")
    .option("--dry-run", "ask the cluster what would be written, and write nothing");
  addSettingOptions(crds, "install");
  crds.action((options: { readonly dryRun?: boolean }, given: Command) => installCrds(given, options.dryRun === true));
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
