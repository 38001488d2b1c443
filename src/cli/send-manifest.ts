/** `akash-provider send-manifest`: tells every provider that has a lease of a deployment what to run. */
import type { Command } from "commander";
import { stringify } from "yaml";
import { printable, printableJson } from "../market/printable.ts";
import { ProviderError } from "../runtime/errors.ts";
import { type Reach, withLessors } from "./reach.ts";
import { readSdlFile } from "./sdl.ts";
import { type LeaseFlags, leaseFlags, outputFlag, providerCommand } from "./tenant-flags.ts";

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
      const send = async ({ provider, client }: Reach): Promise<Result> => {
        await client.ask({ method: "PUT", path: `/deployment/${flags.dseq}/manifest`, body });
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
