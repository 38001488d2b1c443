import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteBuffer, createCutter, framed } from "./framing.ts";

test("bytes are the same in whatever pieces they come, and many small pieces keep little alive", () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * 7_919) % 251));
  for (const sizes of [[1], [1, 1_025], [5, 16_384, 3], [1_024], [40_000]]) {
    const buffer = new ByteBuffer();
    for (let at = 0, n = 0; at < bytes.length; n++) {
      const size = sizes[n % sizes.length] ?? 1;
      buffer.add(bytes.subarray(at, at + size));
      at += size;
    }
    assert.equal(buffer.size, bytes.length);
    assert.ok(buffer.pieces <= 8 + Math.ceil(bytes.length / 1_024), `${sizes}: ${buffer.pieces} pieces`);
    assert.ok(buffer.whole().equals(bytes), `${sizes}`);
  }
});

test("pieces that came together keep no more alive than what they came in", () => {
  const buffer = new ByteBuffer();
  for (let received = 0; received < 4; received += 1) {
    const bytes = Buffer.from(new ArrayBuffer(16_384));
    for (const piece of [bytes.subarray(0, 9_000), bytes.subarray(9_000)]) buffer.add(piece);
  }
  assert.equal(buffer.kept, 4 * 16_384);
});

test("messages are cut out of single bytes, and out of a piece that holds several", () => {
  const texts = ["", "one", "x".repeat(50_000), "last"];
  const wire = Buffer.concat(texts.map((text) => framed(Buffer.from(text))));
  for (const size of [1, 7, wire.length]) {
    const cut = createCutter(100_000);
    const found: string[] = [];
    for (let at = 0; at < wire.length; at += size)
      for (const frame of cut.take(wire.subarray(at, at + size))) found.push(frame.subarray(5).toString());
    assert.deepEqual(found, texts);
    assert.equal(cut.held, 0);
  }
});

test("a large message that goes to many is kept once, however many do not take it", () => {
  const [status, other] = [Buffer.alloc(100_000, 1), Buffer.alloc(100_000, 2)];
  assert.equal(framed(status), framed(status));
  assert.deepEqual(framed(other).subarray(5), other);
  assert.deepEqual(framed(status).subarray(5), status);
});
