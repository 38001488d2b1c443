import assert from "node:assert/strict";
import { test } from "node:test";
import { openStream, serveStreams, upgradeHeaders } from "../../../test/stream-stage.ts";

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
