import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createPlainServer, type Server } from "node:http";
import { createServer } from "node:https";
import type { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { makeCertificate } from "../../../test/support/test-certificate.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { kubePieceBytes } from "../client/lines.ts";
import { createKubeTransport } from "./http-kube.ts";

const line = `${"x".repeat(49)}\n`;
const lines = 6_000;

test("small chunks share buffers", async (t) => {
  const { certPem, keyPem } = makeCertificate({ name: "api" });
  const server = createServer({ cert: certPem, key: keyPem }, async (_request, response) => {
    for (let left = lines; left > 0; left -= 1) await new Promise((sent) => response.write(line, sent));
    response.end();
  });
  const body = await answerOf(t, server, certPem);
  const places = new Set<ArrayBufferLike>();
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    places.add(chunk.buffer);
    bytes += chunk.length;
  }
  assert.equal(bytes, lines * line.length);
  assert(places.size <= bytes / 2_048, `${places.size} places for ${bytes} bytes`);
});

for (const scheme of ["http", "https"]) {
  test(`little of an unread response over ${scheme} is buffered`, async (t) => {
    const { certPem, keyPem } = makeCertificate({ name: "api" });
    const whole = 16 * 2 ** 20;
    const respond = (_request: unknown, response: { write(bytes: string): void; end(): void }) => {
      for (let sent = 0; sent < whole; sent += 1_024) response.write("x".repeat(1_024));
      response.end();
    };
    const server =
      scheme === "http" ? createPlainServer(respond) : createServer({ cert: certPem, key: keyPem }, respond);
    const body = await answerOf(t, server, scheme === "http" ? undefined : certPem);
    // Some of it is taken first, since a connection that was paused may be read again then.
    let bytes = 0;
    while (bytes < 2 ** 20) {
      const some = body.read() as Buffer | null;
      bytes += some?.length ?? 0;
      if (!some) await once(body, "readable");
    }
    const held = await eventually("an end of reading", async () => {
      const before = body.readableLength;
      // Turns are counted, since a busy machine may give us none for a while.
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
      return before > 0 && before === body.readableLength && before;
    });
    assert(held <= 5 * kubePieceBytes, `${held} bytes`);
    for await (const chunk of body as AsyncIterable<Buffer>) bytes += chunk.length;
    assert.equal(bytes, whole);
  });
}

async function answerOf(t: TestContext, server: Server, ca: string | undefined): Promise<Readable> {
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { readonly port: number };
  const root = new URL(`${ca ? "https" : "http"}://127.0.0.1:${port}`);
  const access = {
    ...{ path: "kubeconfig", server: root, authorization: undefined, tlsMark: "" },
    tls: { ...(ca !== undefined && { ca }), rejectUnauthorized: true },
  };
  const credentials = { current: () => Promise.resolve(access), rejected: () => undefined, close: () => undefined };
  const transport = createKubeTransport({ credentials, clock: createVirtualClock() });
  t.after(transport.close);
  const requested = {
    ...{ verb: "read the log of", resource: "pod", method: "GET", path: "/" },
    headers: {},
    body: undefined,
  };
  return (await transport.send({ ...requested, lane: "streams" })).body;
}
