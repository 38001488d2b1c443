import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { eventually } from "../../../test/eventually.ts";
import { startFakeApi } from "../../../test/fake-apiserver.ts";
import { temporaryFolder } from "../../../test/folder.ts";
import type { Owner } from "../../../test/owner.ts";
import { realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { silentLog } from "../../runtime/log.ts";
import { realRandom } from "../../runtime/random.ts";
import { createHttpKube } from "./http-kube.ts";

const at = { namespace: "lease", name: "box" };

async function stage(owner: Owner) {
  const api = await startFakeApi(owner);
  const kubeconfig = api.writeKubeconfig(temporaryFolder(owner));
  const deps = { clock: realClock, random: realRandom, log: silentLog };
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);
  owner.after(() => kube.close());
  return { api, kube };
}

test("a terminal can be resized, and a megabyte passes both ways in order", async (t) => {
  const { kube } = await stage(t);
  const session = await kube.exec(at, { command: ["cat"], stdin: true, tty: true });
  session.resize({ columns: 80, rows: 24 });
  const output = text(session.stdout);
  const sent = Array.from({ length: 100_000 }, (_, n) => `line ${n}\n`).join("");
  session.stdin.end(sent);
  assert.equal(await session.exit, 0);
  assert.equal(await output, `resized {"Width":80,"Height":24}\n${sent}`);
});

test("a command without input ends by itself", async (t) => {
  const { kube } = await stage(t);
  const session = await kube.exec(at, { command: ["sh", "-c", "exit 5"] });
  assert.equal(await session.exit, 5);
});

test("a connection that breaks before the command has ended gives no exit code but an error", async (t) => {
  const { api, kube } = await stage(t);
  const session = await kube.exec(at, { command: ["cat"], stdin: true });
  const output = text(session.stdout);
  session.stdin.write("half");
  api.breakExecs();
  await assert.rejects(session.exit, (thrown) => ProviderError.is(thrown, "AKP_KUBE_UNREACHABLE"));
  await output;
});

test("the signal ends the command's connection", async (t) => {
  const { api, kube } = await stage(t);
  const stop = new AbortController();
  const session = await kube.exec(at, { command: ["cat"], stdin: true, signal: stop.signal });
  stop.abort();
  await assert.rejects(session.exit);
  await eventually("the end", () => api.execs === 0);
});

test("a command that the server does not allow is refused in its words", async (t) => {
  const { api, kube } = await stage(t);
  api.forbidden.add("exec pods");
  const refused = kube.exec(at, { command: ["cat"] });
  await assert.rejects(
    refused,
    (thrown) => ProviderError.is(thrown, "AKP_KUBE_FORBIDDEN") && /exec in pods box/.test(thrown.message),
  );
});
