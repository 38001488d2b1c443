import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import type { Kube } from "../kube/kube.ts";
import { silentLog } from "../runtime/log.ts";
import { ownPod, settlePorts } from "./own-pod.ts";

test("whoever names the ports needs no pod: none is asked for, and none that cannot be read ends the process", async (t) => {
  const broken: unknown[] = [];
  const note = (reason: unknown) => void broken.push(reason);
  process.on("unhandledRejection", note);
  t.after(() => process.off("unhandledRejection", note));
  const clock = createVirtualClock();
  let asked = 0;
  const get = async () => {
    asked += 1;
    throw new Error("forbidden");
  };
  const stopping = new AbortController();
  const options = { podName: "operator", podNamespace: "akash-services", clock, log: silentLog };
  const named = { restPort: { value: 8080, given: true }, grpcPort: { value: 8081, given: true } };
  const pod = () => ownPod({ get } as unknown as Kube, "operator", options, stopping.signal);
  assert.deepEqual(await settlePorts(named, pod), { restPort: 8080, grpcPort: 8081 });
  await clock.advance(60_000);
  stopping.abort();
  await clock.advance(0);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([asked, broken], [0, []]);
});

test("an operator takes image, pull secrets and ports from its own container", async () => {
  const spec = {
    imagePullSecrets: [{ name: "registry" }],
    containers: [
      { name: "sidecar" },
      { name: "operator", image: "own:1", ports: [{ name: "rest", containerPort: 8080 }] },
    ],
  };
  const get = async () => ({ metadata: { name: "operator-0", uid: "u-1" }, spec });
  const options = {
    podName: "operator-0",
    podNamespace: "akash-services",
    clock: createVirtualClock(),
    log: silentLog,
  };
  const found = await ownPod({ get } as unknown as Kube, "operator", options, new AbortController().signal);
  assert.partialDeepStrictEqual(found, { image: "own:1", pullSecrets: ["registry"], ports: { rest: 8080 } });
});
