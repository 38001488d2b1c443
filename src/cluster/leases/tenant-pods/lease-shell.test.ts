import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { eventually } from "../../../../test/support/eventually.ts";
import { box, simulateBox } from "../../../../test/support/kube/simulated-kube.ts";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import type { Kube } from "../../../kube/kube.ts";
import { addressOf } from "../../../market/address.ts";
import { bidOn } from "../../../market/ids.ts";
import { type Clock, realClock } from "../../../runtime/clock.ts";
import { silentLog } from "../../../runtime/log.ts";
import type { LeasePod } from "../../capacity/reservations/lease-watches.ts";
import { createLeaseShell } from "./lease-shell.ts";

const owner = addressOf(new Uint8Array(20));
const lease = bidOn({ owner, dseq: 7n, gseq: 1, oseq: 1 }, owner);

/** No pauses between attempts. */
const hasty: Clock = { ...realClock, timer: (delayMs, fire) => realClock.timer(delayMs / 100, fire) };

test("a command whose connection breaks is ended when the API server is back", async (t) => {
  const cluster = await simulateBox(t);
  const kube = cluster.connect("akash-provider");
  // Its namespace is another one.
  const inBox: Pick<Kube, "exec"> = { exec: (_, options) => kube.exec(box, options) };
  const pods = { in: () => [{ name: "box", facts: { service: "box", state: "ready" } }] as LeasePod[] };
  const deps = { kube: inBox, pods, clock: hasty, random: createSeededRandom(1), log: silentLog };
  const shell = createLeaseShell(deps);
  const { signal } = new AbortController();
  const request = { service: "box", podIndex: 0, command: ["sleep", "500"], tty: false, stdin: false, signal };
  const session = await shell.exec(lease, request);
  const processes = async () => text((await kube.exec(box, { command: ["ps", "-o", "args"] })).stdout);
  assert.match(await processes(), /sleep 500/);
  cluster.faults.reject({ status: 503, times: 3, verb: "exec" });
  session.close();
  await assert.rejects(session.exit, { code: "AKP_KUBE_UNREACHABLE" });
  await eventually("its end", async () => !/sleep 500/.test(await processes()));
  await shell.close();
});
