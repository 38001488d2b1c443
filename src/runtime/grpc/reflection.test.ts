import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { frame, openGrpcClient } from "../../../test/support/grpc-client.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { realClock } from "../clock.ts";
import { silentLog } from "../log.ts";
import { createGrpcServer } from "./grpc-server.ts";
import { grpcCodes } from "./grpc-status.ts";
import { methodsOf } from "./methods.ts";
import { healthMethods } from "./reflection.ts";

const bounds = { connections: 10, calls: 10, streams: 10, requestBytes: 100 };

/** HealthCheckRequest{ service } */
const requesting = (service: string) => Buffer.concat([Buffer.from([0x0a, service.length]), Buffer.from(service)]);
/** HealthCheckResponse{ status } */
const serving = Buffer.from([0x08, 1]);
const notServing = Buffer.from([0x08, 2]);
const serviceUnknown = Buffer.from([0x08, 3]);

async function serve(owner: Owner) {
  let up = false;
  let wake: (() => void)[] = [];
  const methods = healthMethods({
    serving: (service) => (["", "test.Service"].includes(service) ? up : undefined),
    changed: (signal) =>
      new Promise((resolve, reject) => {
        wake.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  });
  const server = createGrpcServer({ methods: methodsOf(new Map(methods)), bounds, clock: realClock, log: silentLog });
  owner.after(() => server.stop());
  const port = await server.listen({ host: "127.0.0.1", port: 0, what: "a test", setting: "none" });
  return {
    ...openGrpcClient(owner, `http://127.0.0.1:${port}`),
    become(state: boolean) {
      up = state;
      for (const each of wake.splice(0)) each();
      wake = [];
    },
  };
}

test("a probe hears whether the server and each of its services serve", async (t) => {
  const { call, become } = await serve(t);
  const check = (request?: Uint8Array) => call("/grpc.health.v1.Health/Check", request);
  assert.deepEqual((await check()).message, notServing);
  become(true);
  assert.deepEqual((await check()).message, serving);
  assert.deepEqual((await check(requesting("test.Service"))).message, serving);
  assert.equal((await check(requesting("test.Other"))).status, grpcCodes.NotFound);
  assert.equal((await check(Buffer.from([0x0a, 9]))).status, grpcCodes.Internal);
});

test("a watcher hears the state first, then each change and nothing else", async (t) => {
  const { open, become } = await serve(t);
  const watch = (request: Uint8Array) => open("/grpc.health.v1.Health/Watch", frame(request));
  const own = watch(requesting("test.Service"));
  const other = watch(requesting("test.Other"));
  await eventually("the first state", () => own.messages.length === 1 && other.messages.length === 1);
  become(false);
  become(true);
  await eventually("the change", () => own.messages.length === 2);
  assert.deepEqual(own.messages, [notServing, serving]);
  assert.deepEqual(other.messages, [serviceUnknown]);
});
