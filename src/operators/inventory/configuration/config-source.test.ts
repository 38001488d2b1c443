import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../../../test/support/folder.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { followedFileMs, settingsFileChars } from "../../../runtime/limits.ts";
import { silentLog } from "../../../runtime/log.ts";
import { createConfigSource } from "./config-source.ts";
import { defaultInventoryConfig } from "./inventory-config.ts";

/** A ConfigMap as a kubelet mounts it: the file is a link through ..data to a folder that is replaced as a whole. */
function mountConfigMap(folder: string) {
  let version = 0;
  return {
    path: join(folder, "config.yaml"),
    write(text: string) {
      version += 1;
      const data = `..2026_01_01_00_00_0${version}`;
      mkdirSync(join(folder, data));
      writeFileSync(join(folder, data, "config.yaml"), text);
      symlinkSync(data, join(folder, "..data_tmp"));
      renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
      if (version === 1) symlinkSync("..data/config.yaml", join(folder, "config.yaml"));
      else rmSync(join(folder, `..2026_01_01_00_00_0${version - 1}`), { recursive: true });
    },
    remove: () => unlinkSync(join(folder, "config.yaml")),
  };
}

function open(t: TestContext) {
  const clock = createVirtualClock();
  const mount = mountConfigMap(temporaryFolder(t));
  let changes = 0;
  const start = () => {
    const onChange = () => {
      changes += 1;
    };
    const config = createConfigSource(mount.path, { clock, log: silentLog, onChange });
    t.after(() => config.close());
    return config;
  };
  const look = () => clock.advance(followedFileMs);
  return { clock, mount, start, look, changes: () => changes };
}

test("a ConfigMap's swap is noticed, again and again", async (t) => {
  const { mount, start, look, changes } = open(t);
  mount.write("cluster_storage: [beta1]");
  const config = start();
  assert.deepEqual(config.current.clusterStorage, ["beta1"]);
  for (const name of ["beta2", "beta3", "beta4"]) {
    mount.write(`cluster_storage: [${name}]`);
    await look();
    assert.deepEqual(config.current.clusterStorage, [name]);
  }
  assert.equal(changes(), 3);
  mount.write("cluster_storage: [beta4]");
  await look();
  assert.equal(changes(), 3, "the same text is no change");
  assert.deepEqual(config.conditions, []);
});

test("invalid content is rejected and the last good one kept, with a condition", async (t) => {
  const { mount, start, look, changes } = open(t);
  mount.write("cluster_storage: [beta1]");
  const config = start();
  mount.write("cluster_storage: beta2");
  await look();
  assert.deepEqual(config.current.clusterStorage, ["beta1"]);
  assert.equal(config.conditions[0]?.type, "ConfigurationUnusable");
  assert.match(config.conditions[0]?.message ?? "", /line 1: cluster_storage.*2026-01-01T00:00:00.000Z stays in force/);
  await look();
  assert.equal(changes(), 1);
  mount.write("cluster_storage: [beta1]");
  await look();
  assert.deepEqual(config.conditions, []);
});

test("a file that is found empty, as between truncation and writing, leaves the last good one in force", async (t) => {
  const { mount, start, look } = open(t);
  mount.write("exclude: {nodes: [^cp]}");
  const config = start();
  mount.write("");
  await look();
  assert.equal(config.current.excludedNodes[0]?.source, "^cp");
  assert.match(config.conditions[0]?.message ?? "", /it is empty.*stays in force/);
});

test("a file that is removed leaves the last good one in force", async (t) => {
  const { mount, start, look } = open(t);
  mount.write("cluster_storage: [beta1]");
  const config = start();
  mount.remove();
  await look();
  assert.deepEqual(config.current.clusterStorage, ["beta1"]);
  assert.match(config.conditions[0]?.message ?? "", /it is not there/);
  assert.equal(config.settled, true);
});

test("a file that is not there yet is waited for, and read when it appears", async (t) => {
  const { mount, start, look } = open(t);
  const config = start();
  assert.equal(config.current, defaultInventoryConfig);
  assert.equal(config.settled, false);
  assert.match(config.conditions[0]?.message ?? "", /it is not there; nothing is offered until it can be used/);
  mount.write("exclude: {nodes: [^cp]}");
  await look();
  assert.equal(config.settled, true);
  assert.equal(config.current.excludedNodes[0]?.source, "^cp");
  assert.deepEqual(config.conditions, []);
});

for (const [what, text] of Object.entries({ bad: "cluster_storage: {", empty: "" })) {
  test(`a file that is ${what} from the start is not settled`, (t) => {
    const { mount, start } = open(t);
    mount.write(text);
    const config = start();
    assert.equal(config.settled, false);
    assert.equal(config.current, defaultInventoryConfig);
  });
}

test("what is no file, or far too long, is not read", async (t) => {
  const { mount, start, look } = open(t);
  execFileSync("mkfifo", [mount.path]);
  const config = start();
  assert.match(config.conditions[0]?.message ?? "", /it is not a file/);
  unlinkSync(mount.path);
  writeFileSync(mount.path, "#".repeat(settingsFileChars + 1));
  await look();
  assert.match(config.conditions[0]?.message ?? "", /more than/);
});

test("YAML may be given itself, and nothing at all means the default", () => {
  const deps = { clock: createVirtualClock(), log: silentLog, onChange: () => undefined };
  assert.equal(createConfigSource(undefined, deps).current, defaultInventoryConfig);
  assert.equal(createConfigSource(" ", deps).settled, true);
  const inline = createConfigSource("cluster_storage: [beta3]\ngpu_registry: /etc/gpus.yaml", deps);
  assert.deepEqual(inline.current.clusterStorage, ["beta3"]);
  assert.throws(
    () => createConfigSource("cluster_storage: beta3", deps),
    (thrown) => ProviderError.is(thrown, "AKP_INVENTORY_CONFIG_REFUSED"),
  );
  assert.equal(deps.clock.pendingTimers, 0);
});

test("closing ends the looking", async (t) => {
  const { clock, mount, start, look } = open(t);
  mount.write("cluster_storage: [beta1]");
  const config = start();
  config.close();
  assert.equal(clock.pendingTimers, 0);
  mount.write("cluster_storage: [beta2]");
  await look();
  assert.deepEqual(config.current.clusterStorage, ["beta1"]);
});
