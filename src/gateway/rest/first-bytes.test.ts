import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import { connect } from "node:tls";
import { binaryProxyHeader } from "../../../test/support/proxy-headers.ts";
import { runs } from "../../../test/support/runs.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { gatewayHelloBytes, readClientHello, readProxyHeader } from "./first-bytes.ts";

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

test("server name is read as spelled; none → undefined", async () => {
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

test("mutated ClientHello → parsed or rejected", () => {
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

const text = (line: string) => Buffer.from(line, "latin1");
const header = (bytes: Buffer, address?: string) => ({ kind: "header", length: bytes.length, address });

test("both versions name the client's address, and what follows is left alone", () => {
  const cases: readonly [Buffer, string | undefined][] = [
    [text("PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n"), "192.0.2.7"],
    [text("PROXY TCP6 2001:db8::7 2001:db8::1 56324 443\r\n"), "2001:db8::7"],
    [text("PROXY UNKNOWN\r\n"), undefined],
    [text("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"), undefined],
    [binaryProxyHeader("192.0.2.7"), "192.0.2.7"],
    [binaryProxyHeader("2001:db8:0:0:0:0:0:7"), "2001:0db8:0000:0000:0000:0000:0000:0007"],
    [binaryProxyHeader("0:0:0:0:0:ffff:c000:0207"), "192.0.2.7"],
    [binaryProxyHeader("192.0.2.7", { more: Buffer.of(4, 0, 1, 0) }), "192.0.2.7"],
    [binaryProxyHeader("192.0.2.7", { command: 0 }), undefined],
    [binaryProxyHeader("192.0.2.7", { family: 0 }), undefined],
  ];
  for (const [bytes, address] of cases) {
    assert.deepEqual(readProxyHeader(bytes), header(bytes, address));
    assert.deepEqual(readProxyHeader(Buffer.concat([bytes, Buffer.of(22, 3, 1)])), header(bytes, address));
    for (let length = 0; length < bytes.length; length += 1)
      assert.equal(readProxyHeader(bytes.subarray(0, length)).kind, "unfinished", `${bytes} at ${length}`);
  }
});

test("everything else is no header", () => {
  const short = binaryProxyHeader("192.0.2.7");
  short.writeUInt16BE(11, 14);
  for (const bytes of [
    Buffer.of(22, 3, 1),
    text("GET / HTTP/1.1\r\n"),
    text("PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n"),
    text("PROXY TCP4 999.0.2.7 198.51.100.1 1 2\r\n"),
    text("PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n"),
    text("PROXY \r\n"),
    text(`PROXY UNKNOWN ${"x".repeat(100)}\r\n`),
    text(`PROXY ${"x".repeat(200)}`),
    binaryProxyHeader("192.0.2.7", { version: 1 }),
    binaryProxyHeader("192.0.2.7", { command: 2 }),
    short,
  ])
    assert.equal(readProxyHeader(bytes).kind, "garbage", String(bytes));
});
