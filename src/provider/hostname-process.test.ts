import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { probeThrough } from "./hostname-process.ts";

test("a probe ends whatever it is answered: one that never did would be the last", async (t) => {
  // What nobody asked for, and no answer to a question either.
  const upgrade = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.write(upgrade));
  });
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const probe = probeThrough({ host: "127.0.0.1", port });
  await assert.rejects(probe("a.example.com", new AbortController().signal), /without an answer/);
});
