import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { limits } from "../../runtime/limits.ts";
import { createBodyReader } from "./body.ts";

function requestFrom(remoteAddress: string) {
  return Object.assign(new PassThrough(), { rawHeaders: [], socket: { remoteAddress } });
}

const asRequest = (stream: ReturnType<typeof requestFrom>) => stream as unknown as IncomingMessage;

test("of a body in crumbs none is kept, only what they say", async () => {
  const request = requestFrom("192.0.2.1");
  const body = createBodyReader()(asRequest(request), 1_000);
  const crumb = Buffer.from(" ");
  const text = "a body that comes in crumbs";
  for (const character of text) {
    crumb.write(character);
    // As the parser does, which may use its bytes again.
    request.emit("data", crumb);
  }
  request.end();
  assert.equal(Buffer.from(await body).toString(), text);
});

test("one place sends so much at once, others send all the same, and what is through is not counted", async () => {
  const read = createBodyReader();
  const most = limits.gatewayBodiesOfPlaceBytes / 4;
  const send = (from: string) => {
    const request = requestFrom(from);
    const body = read(asRequest(request), most);
    request.emit("data", Buffer.alloc(most));
    return { request, body };
  };
  const sent = Array.from({ length: 4 }, () => send("192.0.2.1"));
  await assert.rejects(send("192.0.2.1").body, { code: "AKP_GATEWAY_BODIES_TOO_MANY" });
  const other = send("192.0.2.2");
  const [first, second] = sent;
  first?.request.end();
  assert.equal((await first?.body)?.length, most);
  second?.request.destroy();
  await assert.rejects(second?.body ?? Promise.resolve(), { code: "AKP_GATEWAY_CLIENT_GONE" });
  const [third, fourth] = [send("192.0.2.1"), send("192.0.2.1")];
  for (const { request, body } of [other, third, fourth]) {
    request.end();
    assert.equal((await body).length, most);
  }
});
