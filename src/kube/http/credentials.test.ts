import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../test/support/folder.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { createCredentialPlugin, kubePluginMs } from "./credentials.ts";

const never = new AbortController().signal;
const identity = { path: "kubeconfig", server: new URL("http://127.0.0.1"), skipVerify: false };
const apiVersion = "client.authentication.k8s.io/v1";

/** A command that reports a token and the expiry in the file; it is noon of a day in UTC. */
function stage(owner: Owner) {
  const folder = temporaryFolder(owner);
  const [command, calls, expiry] = [join(folder, "plugin"), join(folder, "calls"), join(folder, "expiry")];
  const answer = '{"kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"%s"}}';
  writeFileSync(command, `#!/bin/sh\necho called >> ${calls}\nprintf '${answer}' "$(cat ${expiry})"\n`);
  chmodSync(command, 0o755);
  const clock = createVirtualClock(Date.UTC(2026, 5, 1, 12));
  const plugin = createCredentialPlugin(identity, { apiVersion, command, provideClusterInfo: false }, clock, never);
  return {
    clock,
    plugin,
    expireAt: (time: string) => writeFileSync(expiry, time),
    calls: () => (existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n").length : 0),
  };
}

for (const expiry of ["2026-06-01T13:00:00Z", "2026-06-01T15:00:00+02:00", "2026-06-01T08:30:00.5-04:30"]) {
  test(`a credential is kept until it expires, whatever the zone: ${expiry}`, async (t) => {
    const { clock, plugin, expireAt, calls } = stage(t);
    expireAt(expiry);
    await plugin.credential();
    await clock.advance(59 * 60_000);
    await plugin.credential();
    assert.equal(calls(), 1, "a minute before");
    await clock.advance(60_000);
    await plugin.credential();
    assert.equal(calls(), 2, "at its end");
  });
}

test("all who come while it is requested again, or while it was rejected, wait for one command", async (t) => {
  const { clock, plugin, expireAt, calls } = stage(t);
  expireAt("2026-06-01T13:00:00Z");
  await plugin.credential();
  await clock.advance(2 * 3_600_000);
  expireAt("2026-06-01T23:00:00Z");
  await Promise.all([plugin.credential(), plugin.credential(), plugin.credential()]);
  assert.equal(calls(), 2);
  const rejected = [1, 2, 3].map(() => {
    plugin.forget();
    return plugin.credential();
  });
  await Promise.all(rejected);
  assert.equal(calls(), 3);
});

test("a failure is not kept, and an expiry that is no time is one", async (t) => {
  const { plugin, expireAt } = stage(t);
  expireAt("tomorrow");
  await assert.rejects(plugin.credential(), (thrown) => ProviderError.is(thrown, "AKP_KUBE_PLUGIN_FAILED"));
  expireAt("2026-06-01T23:00:00Z");
  assert.equal((await plugin.credential()).token, "t");
});

const ends = { "its time is over": /no answer within/, "the connection is closed": /the connection is closed/ };
for (const [end, reason] of Object.entries(ends)) {
  test(`a command that has ended and left something that holds its pipes is given up when ${end}`, async (t) => {
    const folder = temporaryFolder(t);
    const [command, ids] = [join(folder, "plugin"), join(folder, "ids")];
    writeFileSync(command, `#!/bin/sh\nsleep 30 &\necho $$ $! > ${ids}.new\nmv ${ids}.new ${ids}\n`);
    chmodSync(command, 0o755);
    const clock = createVirtualClock();
    const closing = new AbortController();
    const own = { apiVersion, command, provideClusterInfo: false };
    const requested = createCredentialPlugin(identity, own, clock, closing.signal).credential();
    const failed = assert.rejects(requested, reason);
    await eventually("the command runs", () => existsSync(ids));
    const [ended, left] = readFileSync(ids, "utf8").split(" ").map(Number);
    t.after(() => process.kill(left as number, "SIGKILL"));
    await eventually("the command ended", () => !existsSync(`/proc/${ended}`));
    if (end === "its time is over") await clock.advance(kubePluginMs);
    else closing.abort(new Error(end));
    await failed;
  });
}
