import assert from "node:assert/strict";
import { unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Command } from "commander";
import { temporaryFolder } from "../../test/support/folder.ts";
import { addSettingOptions } from "../config/options.ts";
import { connect } from "../journal/connection.ts";
import { openJournal } from "../journal/open.ts";
import { realClock } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { silentLog } from "../runtime/log.ts";
import { takeSettings } from "./settings.ts";

const good = "host: https://provider.example.com\n";

/** A provider that ran with that content. */
async function stoppedProvider(t: TestContext) {
  const folder = temporaryFolder(t);
  const [dataDir, file] = [join(folder, "data"), join(folder, "provider.yaml")];
  const { journal } = await openJournal({ dir: dataDir, clock: realClock, log: silentLog });
  await journal.durable("settings file", ({ files }) => files.put(file, good));
  await journal.close();
  return { dataDir, file };
}

/** As `akash-provider run` takes them. */
function takeOf(t: TestContext, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const before = process.env;
  t.after(() => {
    process.env = before;
  });
  process.env = { ...env };
  return takeSettings(addSettingOptions(new Command("run"), "run").parse(args, { from: "user" }), "run");
}

test("a restart with any fault of provider.yaml uses its last good content, named by flag or by variable", async (t) => {
  const { dataDir, file } = await stoppedProvider(t);
  const faults: readonly [string | undefined, RegExp][] = [
    [`${good}price_target_cpu: lots\n`, /price_target_cpu cannot be "lots"/],
    [`${good}price_target_cpuu: 2\n`, /no setting price_target_cpuu/],
    ["host: [\n", /provider\.yaml/],
    [undefined, /cannot be read: ENOENT/],
  ];
  for (const [text, reason] of faults) {
    if (text === undefined) unlinkSync(file);
    else writeFileSync(file, text);
    for (const { values, rejected } of [
      takeOf(t, ["--data-dir", dataDir, "--provider-config", file]),
      takeOf(t, ["--data-dir", dataDir], { AP_PROVIDER_CONFIG: file }),
    ]) {
      assert.match(rejected ?? "", reason);
      assert.equal(values.hostUri, "https://provider.example.com");
    }
  }
});

test("the last good content is found in a journal that another version wrote", async (t) => {
  const { dataDir, file } = await stoppedProvider(t);
  const args = ["--data-dir", dataDir, "--provider-config", file];
  const inJournal = (sql: string) => {
    const connection = connect(join(dataDir, "journal.db"));
    connection.exec(sql);
    connection.close();
  };
  for (const version of [1, 1_000]) {
    inJournal(`PRAGMA user_version = ${version}`);
    assert.equal(takeOf(t, args).values.hostUri, "https://provider.example.com");
  }
  inJournal("DROP TABLE files");
  assert.throws(
    () => takeOf(t, args),
    (thrown) => ProviderError.is(thrown, "AKP_SETTINGS_FILE_UNREADABLE"),
  );
});
