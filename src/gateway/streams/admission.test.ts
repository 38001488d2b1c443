import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { openStream, serveStreams } from "../../../test/support/stages/stream-stage.ts";
import type { Address } from "../../market/address.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { AuthError, identityOf } from "../auth/identity.ts";
import { streamExpiryCheckMs, streamsPerTenant } from "./admission.ts";
import type { StreamHandler } from "./tenant-stream.ts";

const idle: StreamHandler = async (stream) => {
  if (!stream.signal.aborted) await once(stream.signal, "abort");
  stream.send("last words");
  return { code: 4999 };
};

const deaf: StreamHandler = () => new Promise(() => undefined);

const over = "the credentials of this stream are no longer good:";

test("a stream ends when its token does, and its last words come before the close frame", async (t) => {
  const { port, clock, world } = await serveStreams(t, idle);
  world.untilMs = clock.now() + 60_000;
  const client = await openStream(port);
  await clock.advance(59_999);
  await client.until(() => client.count("ping") === 5);
  assert.equal(client.close, undefined);
  await clock.advance(1);
  await client.until(() => client.close !== undefined);
  assert.deepEqual(client.close, { code: 1008, reason: `${over} they have expired` });
  assert.deepEqual(client.frames.at(-2)?.bytes.toString(), "last words");
});

test("stream to a missing lease does not count for its account", async (t) => {
  const counts: number[] = [];
  const { port, admission, world } = await serveStreams(t, async () => {
    counts.push(admission.count);
    return { code: 4001 };
  });
  const identity = identityOf("akash1tenant" as Address, { access: "full" }, Number.POSITIVE_INFINITY);
  const credentials = { authorization: "akash1tenant", certificates: [], source: "" };
  for (let left = streamsPerTenant; left > 0; left -= 1) admission.admit({ credentials, identity, lease: undefined });
  assert.equal((await openStream(port)).answer?.status, 429);
  world.isInCluster = false;
  const client = await openStream(port);
  await client.until(() => client.close !== undefined);
  assert.deepEqual([client.answer?.status, client.close?.code], [101, 4001]);
  assert.deepEqual([counts, admission.count], [[streamsPerTenant], streamsPerTenant]);
});

test("credentials valid longer than a timer → expiry checked in between", async (t) => {
  const { port, clock, world } = await serveStreams(t, idle);
  world.untilMs = clock.now() + streamExpiryCheckMs + 10_000;
  const client = await openStream(port);
  await clock.advance(streamExpiryCheckMs);
  assert.equal(client.count("close"), 0);
  await clock.advance(10_000);
  await client.until(() => client.close !== undefined);
  assert.equal(client.close?.code, 1008);
});

test("a stream ends with the step of the chain that revokes its certificate", async (t) => {
  const { port, step, world } = await serveStreams(t, idle);
  const client = await openStream(port);
  await step();
  world.error = new AuthError(401, "unauthorized access");
  await step();
  await client.until(() => client.close !== undefined);
  assert.deepEqual(client.close, { code: 1008, reason: `${over} unauthorized access` });
});

test("lease closed → stream ends with that step of the chain, or with the next one", async (t) => {
  const { port, step, world } = await serveStreams(t, idle);
  const client = await openStream(port);
  await step();
  assert.equal(client.frames.length, 0);
  world.leaseState = "closed";
  const late = await openStream(port);
  await step();
  for (const each of [client, late]) {
    await each.until(() => each.close !== undefined);
    assert.deepEqual(each.close, { code: 1000, reason: "the lease is closed" });
  }
});

test("chain does not answer → streams continue", async (t) => {
  const { port, step, world, admission } = await serveStreams(t, idle);
  const client = await openStream(port);
  for (const rejection of [
    new ProviderError("AKP_CHAIN_SILENT", { what: "a key", reason: "no node answers" }),
    new AuthError(429, "too many"),
    new AuthError(503, "later"),
  ]) {
    world.error = rejection;
    await step();
  }
  client.send("ping");
  await client.until(() => client.count("pong") === 1);
  assert.deepEqual([client.frames.length, admission.count], [1, 1]);
});

test("shutdown → streams are closed with 1001", async (t) => {
  const expected = { code: 1001, reason: "the provider stops" };
  for (const handler of [idle, deaf]) {
    const { port, close } = await serveStreams(t, handler);
    const client = await openStream(port);
    await close();
    assert.deepEqual(client.close, expected);
  }
});

test("streams per tenant are limited, others still open theirs", async (t) => {
  const { port, admission } = await serveStreams(t, idle);
  const own = await Promise.all(Array.from({ length: streamsPerTenant }, () => openStream(port)));
  const rejected = await openStream(port);
  assert.deepEqual(
    [rejected.answer?.status, rejected.answer?.body],
    [429, "there are too many open streams of this tenant\n"],
  );
  assert.equal((await openStream(port, { authorization: "akash1other" })).answer?.status, 101);
  own[0]?.socket.destroy();
  await eventually("room", () => admission.count === streamsPerTenant);
  assert.equal((await openStream(port)).answer?.status, 101);
});
