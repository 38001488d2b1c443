import assert from "node:assert/strict";
import { test } from "node:test";
import {
  connectGateway,
  exchange,
  type GatewayRequest,
  requestBytes,
  requestOn,
} from "../../../test/support/gateway-client.ts";
import { openStream, serveStreams, streamPath, upgradeHeaders } from "../../../test/support/stages/stream-stage.ts";

test("a request becomes a WebSocket with the recorded headers and no others, whatever is offered", async (t) => {
  const { port } = await serveStreams(t, async (stream) => {
    await stream.send("hello");
    return { code: 1000 };
  });
  const offers = [
    ["Sec-WebSocket-Protocol", "a, b"],
    ["Sec-WebSocket-Extensions", "permessage-deflate"],
    ["Origin", "https://localhost:8443"],
  ] as const;
  const client = await openStream(port, { headers: [...upgradeHeaders, ...offers] });
  assert.equal(client.answer?.line, "HTTP/1.1 101 Switching Protocols");
  assert.deepEqual(client.answer?.headers, [
    ["Upgrade", "websocket"],
    ["Connection", "Upgrade"],
    ["Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="],
  ]);
  await client.until(() => client.close !== undefined);
  assert.deepEqual(
    client.frames.map(({ type, bytes }) => [type, bytes.toString("latin1")]),
    [
      ["text", "hello"],
      ["close", "\x03\xe8"],
    ],
  );
});

test("invalid upgrade request → error response, connection stays open", async (t) => {
  const { port, admission } = await serveStreams(t, async () => ({ code: 1000 }));
  const socket = await connectGateway({ port });
  const others = upgradeHeaders.filter(([name]) => name !== "Sec-WebSocket-Key");
  const rejected: readonly [Partial<GatewayRequest>, number, string][] = [
    [{ headers: [] }, 400, "Bad Request\n"],
    [{ headers: others }, 400, "Bad Request\n"],
    [{ headers: [...upgradeHeaders, ["Origin", "null"]] }, 403, "Forbidden\n"],
    [{ headers: [...upgradeHeaders, ["Origin", "https://localhost:8443.example.com"]] }, 403, "Forbidden\n"],
    [{ path: `${streamPath}?nonsense=1` }, 400, "nonsense\n"],
    [{ path: "/lease/1/1/x/logs" }, 400, 'strconv.ParseUint: parsing "x": invalid syntax\n'],
    [{ path: "/lease/1/1/1/nothing" }, 404, "404 page not found\n"],
    [{ method: "POST" }, 404, "404 page not found\n"],
    [{ authorization: undefined }, 401, '{"message":"unauthorized access"}'],
  ];
  for (const [invalid, status, body] of rejected) {
    const request = { path: streamPath, authorization: "akash1tenant", headers: upgradeHeaders, ...invalid };
    const answer = await requestOn(socket, request);
    assert.deepEqual([answer.status, answer.body, answer.header("Connection")], [status, body, undefined]);
  }
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on("warning", warned);
  t.after(() => process.off("warning", warned));
  const again = { path: `${streamPath}?nonsense=1`, authorization: "akash1tenant", headers: upgradeHeaders };
  for (let left = 20; left > 0; left -= 1) assert.equal((await requestOn(socket, again)).status, 400);
  assert.deepEqual(warnings, []);
  assert.equal(admission.count, 0);
  const answer = await exchange(
    socket,
    requestBytes({ path: streamPath, authorization: "akash1tenant", headers: upgradeHeaders }),
    (bytes) => bytes.includes("\r\n\r\n"),
  );
  assert.match(answer.toString("latin1"), /^HTTP\/1\.1 101 /);
  socket.destroy();
});

test("query is validated before authorization", async (t) => {
  const { port } = await serveStreams(t, async () => ({ code: 1000 }), { scope: "shell" });
  const valid = { authorization: "only logs" };
  const nonsense = { ...valid, path: `${streamPath}?nonsense=1` };
  const statuses = [];
  for (const request of [nonsense, valid]) statuses.push((await openStream(port, request)).answer?.status);
  assert.deepEqual(statuses, [400, 401]);
});

test("upgrade behind a pending request → rejected", async (t) => {
  const { port, admission } = await serveStreams(t, async () => ({ code: 1000 }));
  const socket = await connectGateway({ port });
  const request = requestBytes({ path: streamPath, authorization: "later", headers: [] });
  const upgrade = requestBytes({ path: streamPath, authorization: "akash1tenant", headers: upgradeHeaders });
  const bytes = await exchange(socket, Buffer.concat([request, upgrade]));
  assert.doesNotMatch(bytes.toString("latin1"), / 101 /);
  assert.equal(admission.count, 0);
});
