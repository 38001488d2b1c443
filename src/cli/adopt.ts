/** `akash-provider adopt`: what taking over a cluster from the Go provider would keep and change. */
import { type Command, Option } from "commander";
import { openKey } from "../chain/keys/open-key.ts";
import { type AdoptionDryRun, type DryRunLease, dryRunAdoption } from "../cluster/leases/adoption/dry-run.ts";
import { settingsCommand } from "../config/options.ts";
import { createHttpKube } from "../kube/http/http-kube.ts";
import { findingExitCode } from "../runtime/catalogue/entry.ts";
import { realClock } from "../runtime/clock.ts";
import { realRandom } from "../runtime/random.ts";
import { withNodes } from "./client.ts";
import { print, printError, printJson } from "./control.ts";
import { leasesOf, overcommitOf } from "./market.ts";
import { keySettings, kubeconfigOf } from "./settings.ts";
import { abortOnSignals } from "./signals.ts";

interface AdoptOptions {
  readonly dryRun: boolean;
  readonly json: boolean;
}

export function adoptCommand(): Command {
  const description = "say what taking over a cluster from the network's own provider would keep and change";
  const dryRun = new Option("--dry-run", "read chain and cluster, and report; nothing is written").default(false);
  const command = settingsCommand("run", "adopt", description, [dryRun])
    .option("--json", "print JSON, one value a line", false)
    .addHelpText(
      "after",
      `\nEnds with 0 where everything has its place, with ${findingExitCode} where something has none, and with another where that cannot be told.` +
        "\nNo place has: a replica without a node, a lease of which nothing runs and that no nodes have room for (by cpu, memory and" +
        "\nephemeral storage alone), a name or port that somebody else has, an object that no manifest or no lease wants." +
        "\nTaking over itself is what `akash-provider run` does when it starts: nothing has to be given here.",
    );
  return command.action(async ({ dryRun, json }: AdoptOptions, given: Command) => {
    if (!dryRun) {
      printError(
        "`akash-provider run` takes over when it starts. What it would do is told by: akash-provider adopt --dry-run",
      );
      return;
    }
    const result = await withNodes(given, async ({ config, queries, log }) => {
      const { values, redactor } = config;
      const { signer } = await openKey(keySettings(values), redactor.register);
      const deps = { clock: realClock, random: realRandom, log };
      const kube = createHttpKube(
        { fieldManager: "akash-provider", kubeconfig: kubeconfigOf(config), environment: process.env },
        deps,
      );
      try {
        const options = { ...leasesOf(values), overcommit: overcommitOf(values) };
        return await dryRunAdoption(
          { queries, provider: signer.address, kube, options, clock: realClock },
          abortOnSignals(),
        );
      } finally {
        await kube.close();
      }
    });
    if (json) {
      for (const lease of result.leases) printJson(lease);
      printJson({ height: result.height, strays: result.strays });
    } else print(dryRunLines(result));
    if (isUnplaced(result)) process.exitCode = findingExitCode;
  });
}

function isUnplaced({ leases, strays }: AdoptionDryRun): boolean {
  return strays.length > 0 || leases.some(({ unplaced }) => unplaced.length > 0);
}

function dryRunLines({ height, leases, strays }: AdoptionDryRun): string[] {
  const sum = (of: (lease: DryRunLease) => number) => leases.reduce((total, lease) => total + of(lease), 0);
  const pods = sum(({ kept }) => kept.reduce((total, each) => total + each.pods, 0));
  const workloads = sum(({ kept }) => kept.length);
  return [
    ...leases.flatMap(leaseLines),
    ...strays.map((stray) => `without a lease: ${stray}`),
    `${leases.length} leases at height ${height}: ${workloads} workloads with ${pods} pods are kept as they run, ` +
      `${sum(({ changes }) => changes.length)} other objects change, ` +
      `${sum(({ unplaced }) => unplaced.length) + strays.length} things have no place. Nothing was written.`,
  ];
}

function leaseLines({ lease, namespace, kept, changes, unplaced }: DryRunLease): string[] {
  return [
    `${lease}  ${namespace}`,
    ...kept.map(({ workload, replicas, pods }) => `  keep    ${workload}  ${pods}/${replicas} pods`),
    ...changes.map(({ does, object, fields }) => `  ${does.padEnd(6)}  ${object}${fieldsText(fields)}`),
    ...unplaced.map((each) => `  no place: ${each}`),
  ];
}

function fieldsText(fields: readonly string[]): string {
  return fields.length === 0 ? "" : `  ${fields.join(", ")}`;
}
