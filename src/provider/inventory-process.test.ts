import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../test/eventually.ts";
import { temporaryFolder } from "../../test/folder.ts";
import { realClock } from "../runtime/clock.ts";
import { type Fields, type Log, silentLog } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import { createInventoryProcess } from "./inventory-process.ts";

test("a pod whose ports are named answers before it has reached the cluster, and says what it waits for", async (t) => {
  const lines: (Fields | undefined)[] = [];
  const log: Log = { ...silentLog, info: (_, fields) => void lines.push(fields), with: () => log };
  const stopping = new AbortController();
  const port = { value: 0, given: true };
  const kubeconfig = join(temporaryFolder(t), "kubeconfig");
  const running = createInventoryProcess({
    kubeconfig,
    environment: {},
    host: "127.0.0.1",
    restPort: port,
    grpcPort: port,
    apiTimeoutMs: 3_000,
    podName: "operator-inventory-0",
    podNamespace: "akash-services",
    config: undefined,
    registry: undefined,
    registryPeriodMs: 300_000,
    discoveryImage: { value: "someone-elses", given: false },
    discoveryPort: 8081,
    discoveryNamespace: "akash-discovery",
    discoveryPrivileged: true,
    version: "0.0.0",
    shutdownMs: 5_000,
    clock: realClock,
    random: realRandom,
    log,
  }).run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
  const address = await eventually("the address", () => lines.find((fields) => fields?.["rest"])?.["rest"]);
  assert.equal((await fetch(`http://${address}/health`)).status, 200);
  const ready = await fetch(`http://${address}/ready`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), new RegExp(`there is no kubeconfig: ${kubeconfig}`));
});
