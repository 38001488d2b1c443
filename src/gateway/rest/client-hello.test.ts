import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import { connect } from "node:tls";
import { runs } from "../../../test/runs.ts";
import { createSeededRandom } from "../../runtime/random.ts";
import { readClientHello } from "./client-hello.ts";
import { gatewayHelloBytes } from "./tls-front.ts";

/** What a real client sends first. */
async function helloOf(servername: string | undefined): Promise<Buffer> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const client = connect({ host: "127.0.0.1", port, ...(servername !== undefined && { servername }) });
  client.on("error", () => undefined);
  const [socket] = (await once(server, "connection")) as [Socket];
  const [bytes] = (await once(socket, "data")) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

const hello = await helloOf("Provider.example.com");

test("the name that a client asks for is read as it was spelt, and none where there is none", async () => {
  assert.deepEqual(readClientHello(hello), { kind: "hello", serverName: "Provider.example.com" });
  assert.deepEqual(readClientHello(await helloOf(undefined)), { kind: "hello", serverName: undefined });
});

test("a greeting that comes piece by piece is waited for, to its last byte", () => {
  for (let length = 0; length < hello.length; length += 1) {
    assert.equal(readClientHello(hello.subarray(0, length)).kind, "unfinished", `${length} bytes`);
  }
});

test("a greeting in several records is put together", () => {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += 100) {
    const part = message.subarray(at, at + 100);
    records.push(Buffer.of(22, 3, 1, part.length >> 8, part.length & 0xff), part);
  }
  assert.deepEqual(readClientHello(Buffer.concat(records)), { kind: "hello", serverName: "Provider.example.com" });
});

test("HTTP without TLS is known by its first five bytes, and all else is garbage", () => {
  const kinds: Record<string, string> = {
    "GET / HTTP/1.1": "plain",
    "PUT /x": "plain",
    HEAD: "unfinished",
    "": "unfinished",
  };
  const others = { "GET x": "garbage", "SSH-2.0": "garbage", "PATCH /": "garbage", "\x16\x02": "unfinished" };
  for (const [text, kind] of Object.entries({ ...kinds, ...others })) {
    assert.equal(readClientHello(Buffer.from(text, "latin1")).kind, kind, text);
  }
});

test("whatever a greeting is turned into, it is read or refused", () => {
  const random = createSeededRandom(3);
  const seen = new Set<string>();
  for (let run = 0; run < runs(3_000, 100_000); run += 1) {
    const bytes = Buffer.from(hello.subarray(0, 1 + random.int(hello.length)));
    const last = random.int(2) === 0 ? bytes : Buffer.from(hello);
    for (let change = 0; change <= random.int(4); change += 1) last[random.int(last.length)] = random.int(256);
    seen.add(readClientHello(last).kind);
  }
  assert.deepEqual([...seen].sort(), ["garbage", "hello", "unfinished"]);
  assert.equal(readClientHello(Buffer.alloc(gatewayHelloBytes, 22)).kind, "garbage");
});
