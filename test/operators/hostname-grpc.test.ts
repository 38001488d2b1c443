/** The gRPC API of the hostname operator on a real port. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hostnameMethods } from "../../src/operators/hostname/serving.ts";
import { startOperatorGrpc } from "../../src/operators/serving/grpc.ts";
import {
  operatorHostnameV1ServiceFile,
  operatorHostnameV1State,
  operatorHostnameV1StateRequest,
  operatorHostnameV1Status,
} from "../../src/runtime/grpc/akash-proto.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { openGrpcClient } from "../support/grpc-client.ts";
import { hosts, leaseOf } from "../support/stages/declaration-stage.ts";
import { openHostnameStage } from "../support/stages/hostname-stage.ts";

const ann = leaseOf(1, 1);
const service = "/akash.operator.hostname.v1.HostnameRPC";

test("a stream begins with all host names and goes on with those that change or go", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  stage.lease(ann, hosts());
  for (const host of ["a.example.com", "*.example.org"]) stage.declare(host, ann);
  await stage.settled();
  const source = {
    states: operator.states,
    waitingFor: () => operator.waitingFor,
    leading: () => true,
    backend: operator.backend,
  };
  const grpc = await startOperatorGrpc({
    ...{ host: "127.0.0.1", port: 0, what: "the hostname operator over gRPC", clock: stage.clock, log: silentLog },
    methods: hostnameMethods(source),
    file: operatorHostnameV1ServiceFile,
    serving: () => true,
    changed: (signal) => untilAborted(signal),
  });
  t.after(() => grpc.close());
  const client = openGrpcClient(t, `http://127.0.0.1:${grpc.port}`);
  const call = client.open(`${service}/StreamState`, frame(operatorHostnameV1StateRequest.encode({ hostnames: [] })));
  const message = (at: number) =>
    eventually(`message ${at}`, () => call.messages[at] && operatorHostnameV1State.decode(call.messages[at]));
  const first = await message(0);
  assert.deepEqual(
    [first.whole, first.settled, first.hostnames.map(({ hostname }) => hostname).sort()],
    [true, true, ["*.example.org", "a.example.com"]],
  );
  const [one] = first.hostnames;
  assert.deepEqual(
    [one?.leaseId?.owner, one?.state, one?.health, one?.endpointsReady],
    [ann.owner, "served", "healthy", 1],
  );
  stage.withdraw("a.example.com");
  await stage.settled();
  const second = await message(1);
  assert.deepEqual([second.whole, second.hostnames.length, second.gone], [false, 0, ["a.example.com"]]);
  stage.endpoints(ann, 0, 1);
  await stage.settled();
  const third = await message(2);
  assert.deepEqual(
    third.hostnames.map(({ hostname, health, conditions }) => [hostname, health, conditions[0]?.type]),
    [["*.example.org", "unhealthy", "EndpointsMissing"]],
  );
  call.stream.close();

  const ask = async (method: string, body: Uint8Array) =>
    (await client.open(`${service}/${method}`, frame(body)).ended).message;
  const status = operatorHostnameV1Status.decode(await ask("GetStatus", new Uint8Array()));
  assert.deepEqual(status, {
    waitingFor: "",
    leading: true,
    backend: "Ingress-NGINX",
    served: 1,
    waiting: 0,
    refused: 0,
    unhealthy: 1,
  });
  const request = operatorHostnameV1StateRequest.encode({ hostnames: ["*.example.org", "unknown"] });
  const state = operatorHostnameV1State.decode(await ask("GetState", request));
  assert.deepEqual([state.whole, state.hostnames.length], [false, 1]);
});

function frame(message: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
