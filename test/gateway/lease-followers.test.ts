/** Many followers of one lease, at a whole provider over TLS: a burst of events to them delays no other client. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { invariant } from "../../src/runtime/invariant.ts";
import { connectGateway, requestOn } from "../support/gateway-client.ts";
import { runs } from "../support/runs.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";
import { openStream, upgradeHeaders } from "../support/stages/stream-stage.ts";

const followers = runs(25, 100);
const events = 150;

test("burst of events to many followers of a lease → another tenant's stream and requests are not delayed", async (t) => {
  const { cluster, tenants, port } = await startGatewayStage(t, { tenants: 2 });
  const [one, two] = tenants;
  invariant(one && two, "there are two");
  const [busy, quiet] = await Promise.all([one.deployed(1n), two.deployed(1n)]);
  const path = "/lease/1/1/1/kubeevents?follow=true";
  const follow = (authorization: string) => openStream(port, { path, headers: upgradeHeaders, authorization });
  const authorization = one.bearer();
  const crowd = await Promise.all(Array.from({ length: followers }, () => follow(authorization)));
  const other = await follow(two.bearer());
  const socket = await connectGateway({ port });
  const ask = () => requestOn(socket, { path: "/lease/1/1/1/status", authorization: two.bearer() });
  assert.equal((await ask()).status, 200);

  const noted = (client: typeof other) => client.frames.filter(({ bytes }) => bytes.includes("it is ")).length;
  const taken = () => crowd.reduce((sum, client) => sum + noted(client), 0);
  for (let at = 0; at < events; at += 1) happens(leaseNamespace(busy), at);
  happens(leaseNamespace(quiet), 0);
  await crowd[0]?.until(() => taken() > 0);
  let [answers, mostFrames] = [0, 0];
  const polling = (async () => {
    while (taken() < followers * events) {
      const before = taken();
      assert.equal((await ask()).status, 200);
      answers += 1;
      mostFrames = Math.max(mostFrames, taken() - before);
    }
  })();
  await other.until(() => noted(other) === 1);
  const takenByThen = taken();
  await polling;
  t.diagnostic(
    `${followers * events} frames: ${takenByThen} before another's one, ${answers} answers, at most ${mostFrames} before one of them`,
  );
  assert.ok(takenByThen < (followers * events) / 2, `${takenByThen} were taken before another tenant's one`);
  assert.ok(mostFrames < (followers * events) / 2, `${mostFrames} were taken before one answer`);
  for (const client of [...crowd, other]) client.socket.destroy();
  socket.destroy();

  function happens(namespace: string, at: number): void {
    const note = `it is ${at.toString().replace(/\d/g, (digit) => "ghijklmnop"[Number(digit)] ?? "")}`;
    const fields = {
      type: "Normal",
      reason: "Tested",
      reportingController: "test",
      reportingInstance: "test",
      action: "Test",
    };
    const regarding = { kind: "Pod", name: "web-0", namespace };
    const eventTime = new Date().toISOString().replace("Z", "000Z");
    const metadata = { namespace, name: `test.${at}` };
    cluster.server.create(kinds.event, { metadata, ...fields, note, regarding, eventTime }, "test");
  }
});
