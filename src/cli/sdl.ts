/** SDL files: what a tenant posts of one, and `akash-provider sdl-to-manifest`. */
import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import { stringify } from "yaml";
import { readSdl, type Sdl } from "../market/sdl/sdl.ts";
import { ProviderError, reasonOf } from "../runtime/errors.ts";

export function readSdlFile(path: string): Sdl {
  return readSdl(textOf(path), path);
}

/** The text of a file that is a sound SDL, for whoever reads it again. */
export function soundSdlText(path: string): string {
  const text = textOf(path);
  readSdl(text, path);
  return text;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (thrown) {
    throw new ProviderError("AKP_SDL_REFUSED", { path, list: `  - ${reasonOf(thrown)}` });
  }
}

export function sdlToManifestCommand(): Command {
  return new Command("sdl-to-manifest")
    .description("print the manifest of an SDL file, as a provider wants it")
    .argument("<sdl>")
    .addOption(new Option("-o, --output <format>", "what to print").choices(["json", "yaml"]).default("json"))
    .action((path: string, { output }: { output: "json" | "yaml" }) => {
      const { manifest } = readSdlFile(path);
      process.stdout.write(output === "json" ? `${JSON.stringify(manifest)}\n` : stringify(manifest));
    });
}
