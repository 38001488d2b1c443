import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { ProviderError } from "../runtime/errors.ts";
import { configCommand } from "./settings.ts";

async function run(env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  let printed = "";
  const command = configCommand({ env, write: (text) => (printed += text) });
  await command.parseAsync(args, { from: "user" });
  return printed;
}

test("config print shows flags, environment and the file together", async (t) => {
  const file = join(temporaryFolder(t), "provider.yaml");
  writeFileSync(file, "host: https://p.example.com\n");
  const printed = await run(
    { AKASH_CHAIN_ID: "akashnet-2" },
    "print",
    "--provider-config",
    file,
    "--shutdown-timeout=3m",
  );
  assert.match(printed, /^shutdown-timeout +3m +flag --shutdown-timeout$/m);
  assert.match(printed, /^chain-id +akashnet-2 +environment AKASH_CHAIN_ID$/m);
  assert.match(printed, /^host +https:\/\/p\.example\.com.* +.*provider\.yaml:1$/m);
});

test("config print speaks JSON when asked", async () => {
  assert.equal(JSON.parse(await run({}, "print", "--output", "json")).settings["bid-timeout"].value, "5m");
});

test("config print rejects what run would reject", async (t) => {
  const missing = join(temporaryFolder(t), "none.yaml");
  await assert.rejects(run({ AP_BID_TIMEOUT: "soon" }, "print"), (error) =>
    ProviderError.is(error, "AKP_SETTING_INVALID"),
  );
  await assert.rejects(run({}, "print", "--provider-config", missing), (error) => {
    return ProviderError.is(error, "AKP_SETTINGS_FILE_UNREADABLE");
  });
});
