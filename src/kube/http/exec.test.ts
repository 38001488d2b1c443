import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { eventually } from "../../../test/eventually.ts";
import { temporaryFolder } from "../../../test/folder.ts";
import { startHttpFace } from "../../../test/http-face.ts";
import type { Owner } from "../../../test/owner.ts";
import { simulateBox } from "../../../test/simulated-kube.ts";
import { realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { silentLog } from "../../runtime/log.ts";
import { realRandom } from "../../runtime/random.ts";
import { kinds } from "../kinds.ts";
import { createHttpKube } from "./http-kube.ts";

const at = { namespace: "lease", name: "box" };

async function stage(owner: Owner) {
  const cluster = await simulateBox(owner);
  const api = await startHttpFace(owner, cluster);
  const kubeconfig = api.writeKubeconfig(temporaryFolder(owner));
  const deps = { clock: realClock, random: realRandom, log: silentLog };
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);
  owner.after(() => kube.close());
  return { cluster, api, kube };
}

test("a terminal can be resized, and a megabyte passes both ways in order", async (t) => {
  const { kube } = await stage(t);
  const session = await kube.exec(at, { command: ["sh", "-c", "cat; stty size"], stdin: true, tty: true });
  session.resize({ columns: 80, rows: 24 });
  const output = text(session.stdout);
  const sent = Array.from({ length: 100_000 }, (_, n) => `line ${n}\n`).join("");
  session.stdin.end(sent);
  assert.equal(await session.exit, 0);
  assert.equal(await output, `${sent}24 80\n`);
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
  const { cluster, kube } = await stage(t);
  cluster.faults.forbid("exec", kinds.pod);
  const refused = kube.exec(at, { command: ["cat"] });
  await assert.rejects(
    refused,
    (thrown) => ProviderError.is(thrown, "AKP_KUBE_FORBIDDEN") && /exec in pods box/.test(thrown.message),
  );
});
