/** `akash-provider lease-status` and `service-status`: how what a tenant leased is doing. */
import type { Command } from "commander";
import { stringify } from "yaml";
import { parseAddress } from "../market/address.ts";
import { printable, printableJson } from "../market/printable.ts";
import { ProviderError } from "../runtime/errors.ts";
import { indentedJson, yamlOf } from "./answer-text.ts";
import { type ProviderReach, withLessor, withLessors, withProvider } from "./reach.ts";
import { readSdlFile } from "./sdl.ts";
import {
  type GroupFlags,
  groupFlags,
  type LeaseFlags,
  leaseFlags,
  outputFlag,
  type ProviderFlags,
  parsed,
  providerCommand,
  providerFlag,
  serviceFlag,
  whereFlags,
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
    process.stdout.write(indentedJson(await client.request({ method: "GET", path: `${leasePath(flags)}${path}` })));
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
      const json = await client.request({ method: "GET", path: `${leasePath(flags)}/manifest` });
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
    await client.request({ method: "POST", path, body });
  });
}

/** `akash-provider send-manifest`: tells every provider that has a lease of a deployment what to run. */
interface SendFlags extends LeaseFlags {
  readonly output: "text" | "json" | "yaml";
}

/** As the network's CLI tells it. */
interface Result {
  readonly provider: string;
  readonly status: "PASS" | "FAIL";
  readonly error?: string;
  readonly errorMessage?: string;
}

export function sendManifestCommand(): Command {
  const options = [...leaseFlags(), outputFlag("text", "json", "yaml")];
  const text = "send the manifest of an SDL file to every provider that has a lease of the deployment";
  return providerCommand("send-manifest <sdl>", text, options).action(
    async (path: string, flags: SendFlags, given: Command) => {
      const body = JSON.stringify(readSdlFile(path).manifest);
      const send = async ({ provider, client }: ProviderReach): Promise<Result> => {
        await client.request({ method: "PUT", path: `/deployment/${flags.dseq}/manifest`, body });
        return { provider: provider ?? "", status: "PASS" };
      };
      const failed = (provider: string | undefined, thrown: unknown): Result => ({
        provider: provider ?? "",
        status: "FAIL",
        ...failureOf(thrown),
      });
      const results = await withLessors(flags, given, send, failed);
      process.stdout.write(texts[flags.output](results));
      if (results.some(({ status }) => status === "FAIL")) throw new ProviderError("AKP_MANIFEST_NOT_SENT", {});
    },
  );
}

/** What happened, and what the provider says about it. */
function failureOf(thrown: unknown): Pick<Result, "error" | "errorMessage"> {
  if (!(thrown instanceof ProviderError)) throw thrown;
  if (!ProviderError.is(thrown, "AKP_PROVIDER_REFUSED")) return { error: thrown.message };
  const [error = ""] = thrown.message.split("\n");
  return { error, errorMessage: String(thrown.details["body"]) };
}

const texts: Record<SendFlags["output"], (results: readonly Result[]) => string> = {
  text: (results) => results.flatMap(textLines).join(""),
  json: (results) => `${printableJson(JSON.stringify(results))}\n`,
  yaml: (results) => stringify(results),
};

function textLines({ provider, ...said }: Result): string[] {
  const lines = Object.entries(said).map(([name, value]) => `  ${name}: ${printable(value)}\n`);
  return [`provider: ${provider}\n`, ...lines];
}

/** `akash-provider status`: what a provider says of itself to everybody. */
export function statusCommand(): Command {
  const options = [providerFlag().hideHelp(), ...whereFlags()];
  const command = providerCommand("status [address]", "ask a provider for its status; needs no key", options);
  return command.action(async (address: string | undefined, flags: ProviderFlags, given: Command) => {
    const provider = address === undefined ? flags.provider : parsed(parseAddress)(address);
    await withProvider({ ...flags, ...(provider && { provider }) }, given, async ({ client }) => {
      process.stdout.write(indentedJson(await client.request({ method: "GET", path: "/status" })));
    });
  });
}
