/** What the package says about itself. */
import { readFileSync } from "node:fs";

export const { version, description } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { readonly version: string; readonly description: string };
