import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import { test } from "node:test";
import { makeCertificate } from "../../../test/test-certificate.ts";
import { createVirtualClock } from "../../runtime/clock.ts";
import { createHttpTransport } from "./http-transport.ts";

const line = `${"x".repeat(49)}\n`;
const lines = 6_000;

test("lines that a server sends one by one are not held one by one", async (t) => {
  const { certPem, keyPem } = makeCertificate({ name: "api" });
  const server = createServer({ cert: certPem, key: keyPem }, async (_request, response) => {
    for (let left = lines; left > 0; left -= 1) await new Promise((sent) => response.write(line, sent));
    response.end();
  });
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { readonly port: number };
  const access = {
    ...{ path: "kubeconfig", server: new URL(`https://127.0.0.1:${port}`), authorization: undefined, tlsMark: "" },
    tls: { ca: certPem, rejectUnauthorized: true },
  };
  const credentials = { current: () => Promise.resolve(access), refused: () => undefined, close: () => undefined };
  const transport = createHttpTransport({ credentials, clock: createVirtualClock() });
  t.after(transport.close);
  const asked = {
    ...{ verb: "read the log of", resource: "pod", method: "GET", path: "/" },
    headers: {},
    body: undefined,
  };
  const { body } = await transport.send({ ...asked, lane: "streams" });
  const places = new Set<ArrayBufferLike>();
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    places.add(chunk.buffer);
    bytes += chunk.length;
  }
  assert.equal(bytes, lines * line.length);
  assert(places.size <= bytes / 2_048, `${places.size} places for ${bytes} bytes`);
});
