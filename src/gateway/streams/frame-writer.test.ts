import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { createFrameWriter, streamChunkBytes } from "./frame-writer.ts";

/** Completes writes on demand. */
function stage() {
  const writes: Buffer[] = [];
  const taken: (() => void)[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write(bytes: Buffer, _encoding, done) {
      writes.push(bytes);
      taken.push(done);
    },
  }) as Socket;
  return { writes, taken, socket, writer: createFrameWriter(socket, createVirtualClock()) };
}

test("frames of any size are written whole, in batches", async () => {
  const { writes, writer } = stage();
  for (const frame of ["", "é", "x".repeat(125), "x".repeat(126), Buffer.alloc(3)]) writer.write(frame);
  await Promise.resolve().then(() => new Promise(process.nextTick));
  assert.equal(writes.length, 1);
  const piece = writes[0] as Buffer;
  assert.equal(piece.buffer.byteLength, piece.length);
  const heads = ["8100", "8102c3a9", `817d${"78".repeat(125)}`, `817e007e${"78".repeat(126)}`, "8203000000"];
  assert.equal(piece.toString("hex"), heads.join(""));
});

test("frame larger than a batch → one batch; room again once it is flushed", async () => {
  for (const size of [65_535, 65_536]) {
    const { writes, taken, writer } = stage();
    writer.write(Buffer.alloc(size, 7));
    assert.equal(writes[0]?.length, size + (size < 65_536 ? 4 : 10));
    assert.equal(
      writes[0]?.toString("hex", 0, 11),
      size < 65_536 ? "827effff07070707070707" : "827f000000000001000007",
    );
    const room = writer.room();
    assert(room);
    taken.shift()?.();
    await room;
    assert.equal(writer.room(), undefined);
  }
});

test("small frames do not wait; frames to a closed socket are dropped", async () => {
  const { writes, socket, writer } = stage();
  writer.write("x".repeat(streamChunkBytes / 2));
  writer.flush();
  assert.equal(writer.room(), undefined);
  writer.write("late");
  socket.destroy();
  writer.flush();
  assert.equal(writes.length, 1);
});
