/** From an SDL file to what a deployment needs: groups for the chain and the hash of its manifest. */
import { readFileSync } from "node:fs";
import { generateManifest, generateManifestVersion, type SDLInput } from "@akashnetwork/chain-sdk";
import type { GroupSpec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { parse } from "yaml";
import { ProviderError, reasonOf } from "../runtime/errors.ts";

export interface Sdl {
  readonly groups: readonly GroupSpec[];
  readonly hash: Uint8Array;
  /** What it is priced in, and so what its leases are paid in. */
  readonly denom: string;
}

export async function readSdl(path: string): Promise<Sdl> {
  const refuse = (list: string) => new ProviderError("AKP_SDL_REFUSED", { path, list });
  let input: SDLInput;
  try {
    input = parse(readFileSync(path, "utf8"), { schema: "core", uniqueKeys: true });
  } catch (thrown) {
    throw refuse(`  - ${reasonOf(thrown)}`);
  }
  const result = generateManifest(input);
  if (!result.ok) throw refuse(result.value.map((fault) => `  - ${fault.message}`).join("\n"));
  const { groups, groupSpecs } = result.value;
  const denom = groupSpecs[0]?.resources[0]?.price?.denom;
  if (denom === undefined) throw refuse("  - it names no price");
  return { groups: groupSpecs, hash: await generateManifestVersion(groups), denom };
}
