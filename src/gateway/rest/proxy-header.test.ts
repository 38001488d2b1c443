import assert from "node:assert/strict";
import { test } from "node:test";
import { binaryProxyHeader } from "../../../test/proxy-headers.ts";
import { readProxyHeader } from "./proxy-header.ts";

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
