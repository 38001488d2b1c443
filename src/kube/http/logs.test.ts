import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../../test/eventually.ts";
import { startFakeApi } from "../../../test/fake-apiserver.ts";
import { temporaryFolder } from "../../../test/folder.ts";
import type { Owner } from "../../../test/owner.ts";
import { realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { silentLog } from "../../runtime/log.ts";
import { createSeededRandom } from "../../runtime/random.ts";
import { createHttpKube } from "./http-kube.ts";

const key = "lease/box";
const at = { namespace: "lease", name: "box" };

async function stage(owner: Owner) {
  const api = await startFakeApi(owner);
  const kubeconfig = api.writeKubeconfig(temporaryFolder(owner));
  const deps = { clock: realClock, random: createSeededRandom(1), log: silentLog };
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);
  owner.after(() => kube.close());
  const running = (is: boolean) =>
    api.put("pods", {
      metadata: at,
      status: { containerStatuses: [{ name: "box", state: is ? { running: {} } : { terminated: {} } }] },
    });
  running(true);
  return { api, kube, running };
}

test("a log that is followed goes on after every kind of interruption, with no line left out and none twice", async (t) => {
  const { api, kube, running } = await stage(t);
  const seen: string[] = [];
  api.print(key, "2026-01-01T00:00:00.1Z one");
  const reading = (async () => {
    for await (const { text } of kube.logs(at, { follow: true })) seen.push(text);
  })();
  await eventually("the first", () => seen.length === 1);
  api.print(key, "2026-01-01T00:00:01Z same");
  api.print(key, "2026-01-01T00:00:01Z same");
  api.print(key, "2026-01-01T00:00:01.5Z two");
  await eventually("four", () => seen.length === 4);
  api.cut();
  api.print(key, "2026-01-01T00:00:01.52Z three");
  await eventually("the next", () => seen.length === 5);
  api.endStreams();
  api.refuse({ status: 500, only: "/log" });
  api.print(key, "2026-01-01T00:00:01.52Z three");
  await eventually("one that looks the same", () => seen.length === 6);
  running(false);
  api.endStreams();
  await reading;
  assert.deepEqual(seen, ["one", "same", "same", "two", "three", "three"]);
});

test("following ends with its signal", async (t) => {
  const { api, kube } = await stage(t);
  api.print(key, "2026-01-01T00:00:00Z one");
  const stop = new AbortController();
  const seen: string[] = [];
  for await (const { text } of kube.logs(at, { follow: true, signal: stop.signal })) {
    seen.push(text);
    stop.abort();
  }
  assert.deepEqual(seen, ["one"]);
});

test("a pod that is not there has no log, and that is told", async (t) => {
  const { kube } = await stage(t);
  const lines = kube.logs({ namespace: "lease", name: "nobody" }, { follow: true })[Symbol.asyncIterator]();
  await assert.rejects(lines.next(), (thrown) => ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND"));
});
