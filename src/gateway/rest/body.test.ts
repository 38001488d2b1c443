import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { ByteBudget } from "../../runtime/byte-budget.ts";
import { createBodyReader } from "./body.ts";
import { createRequestBudget } from "./connections.ts";

function requestFrom(remoteAddress: string) {
  return Object.assign(new PassThrough(), { rawHeaders: [], socket: { remoteAddress } });
}

const asRequest = (stream: ReturnType<typeof requestFrom>) => stream as unknown as IncomingMessage;

test("of a body in crumbs none is kept, only what they say", async () => {
  const request = requestFrom("192.0.2.1");
  const body = createBodyReader(createRequestBudget())(
    asRequest(request),
    { mostBytes: 1_000, account: undefined },
    (bytes) => bytes,
  );
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

test("body bytes are limited per client, others still send, and finished requests are released", async () => {
  const most = 100;
  const budget = new ByteBudget({ perClient: 4 * most, total: 10 * most, assured: 0 });
  const read = createBodyReader({ ...createRequestBudget(), anonymous: budget });
  const send = (from: string) => {
    const request = requestFrom(from);
    const body = read(asRequest(request), { mostBytes: most, account: undefined }, (bytes) => bytes);
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
  assert.equal(budget.used, 2 * most);
});

test("the budget holds a body until it is answered", async () => {
  const budget = new ByteBudget({ perClient: 100, total: 1_000, assured: 0 });
  const request = requestFrom("192.0.2.1");
  const answer = Promise.withResolvers<string>();
  const read = createBodyReader({ ...createRequestBudget(), accounts: budget });
  const answered = read(asRequest(request), { mostBytes: 100, account: "akash1tenant" }, () => answer.promise);
  request.end(Buffer.alloc(80));
  await once(request, "close");
  assert.equal(budget.used, 80);
  answer.resolve("answer");
  assert.deepEqual([await answered, budget.used], ["answer", 0]);
});
