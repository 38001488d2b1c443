import assert from "node:assert/strict";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { simulateBox } from "../../../test/support/kube/simulated-kube.ts";
import { startKubeHttpServer } from "../../../test/support/kube-http-server.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { type Clock, realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { silentLog } from "../../runtime/log.ts";
import { realRandom } from "../../runtime/random.ts";
import { kinds } from "../kinds.ts";
import { createHttpKube } from "./http-kube.ts";

const at = { namespace: "lease", name: "box" };

async function stage(owner: Owner, clock: Clock = realClock) {
  const cluster = await simulateBox(owner);
  const api = await startKubeHttpServer(owner, cluster);
  const kubeconfig = api.writeKubeconfig(temporaryFolder(owner));
  const deps = { clock, random: realRandom, log: silentLog };
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);
  owner.after(() => kube.close());
  return { cluster, api, kube };
}

test("a terminal can be resized", async (t) => {
  const { kube } = await stage(t);
  const session = await kube.exec(at, { command: ["sh", "-c", "cat; stty size"], stdin: true, tty: true });
  session.resize({ columns: 80, rows: 24 });
  const output = text(session.stdout);
  // Of a terminal, that is the end of input.
  session.stdin.write("\x04");
  assert.equal(await session.exit, 0);
  assert.equal(await output, "24 80\r\n");
});

test("a megabyte passes both ways in order", async (t) => {
  const { kube } = await stage(t);
  const session = await kube.exec(at, { command: ["cat"], stdin: true });
  const output = text(session.stdout);
  const sent = Array.from({ length: 100_000 }, (_, n) => `line ${n}\n`).join("");
  session.stdin.end(sent);
  assert.equal(await session.exit, 0);
  assert.equal(await output, sent);
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

test("a command that the server does not allow is rejected in its words", async (t) => {
  const { cluster, kube } = await stage(t);
  cluster.faults.forbid("exec", kinds.pod);
  const rejected = kube.exec(at, { command: ["cat"] });
  await assert.rejects(
    rejected,
    (thrown) => ProviderError.is(thrown, "AKP_KUBE_FORBIDDEN") && /exec in pods box/.test(thrown.message),
  );
});

test("a command whose signal is aborted before it begins does not begin", async (t) => {
  const { api, kube } = await stage(t);
  const reason = new Error("the tenant has gone");
  const rejected = kube.exec(at, { command: ["cat"], stdin: true, signal: AbortSignal.abort(reason) });
  await assert.rejects(rejected, reason);
  const stop = new AbortController();
  const late = kube.exec(at, { command: ["cat"], stdin: true, signal: stop.signal });
  stop.abort(reason);
  await assert.rejects(late, reason);
  assert.equal(api.execs, 0);
});

test("input for a command that has ended is rejected to the writer, and harms no other client", async (t) => {
  const { kube } = await stage(t);
  const session = await kube.exec(at, { command: ["sh", "-c", "exit 0"], stdin: true });
  assert.equal(await session.exit, 0);
  session.stdout.resume();
  await once(session.stdout, "close");
  const reported = await new Promise((resolve) => session.stdin.write("too late", resolve));
  assert.match(String(reported), /the command has ended/);
});

test("closing ends commands, logs that are followed and their timers, and rejects what comes later", async (t) => {
  const clock = createVirtualClock();
  const { api, kube } = await stage(t, clock);
  const session = await kube.exec(at, { command: ["cat"], stdin: true });
  const lines = kube.logs(at, { follow: true })[Symbol.asyncIterator]();
  const reported: string[] = [];
  while (reported.length < 2) for (const { text } of (await lines.next()).value ?? []) reported.push(text);
  assert.deepEqual(reported, ["first", "second"]);
  const third = lines.next();
  await kube.close();
  assert.equal((await third).done, true);
  await assert.rejects(session.exit, (thrown) => ProviderError.is(thrown, "AKP_KUBE_UNREACHABLE"));
  await eventually("the end", () => api.execs === 0 && clock.pendingTimers === 0);
  const { length } = api.requests;
  const isClosed = (thrown: unknown) =>
    ProviderError.is(thrown, "AKP_KUBE_UNREACHABLE") && /closed/.test(thrown.message);
  await assert.rejects(kube.version(), isClosed);
  await assert.rejects(kube.logs(at)[Symbol.asyncIterator]().next(), isClosed);
  await assert.rejects(kube.exec(at, { command: ["cat"] }), isClosed);
  assert.equal(api.requests.length, length);
  assert.equal(kube.counts.retries, 0);
});
