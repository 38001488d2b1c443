import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { linesOf, Silence, TooLong } from "./lines.ts";

const clock = createVirtualClock();
const bounds = { clock, silenceMs: 1_000, mostBytes: 8 };

/** The pieces of each line, in whatever pieces the answer comes. */
async function read(chunks: readonly Buffer[], tooLong: "cut" | "fail" = "cut"): Promise<string[][]> {
  const lines: string[][] = [];
  for await (const { texts, isRest } of linesOf(Readable.from(chunks, { objectMode: false }), { ...bounds, tooLong }))
    for (const [index, text] of texts.entries()) {
      if (isRest && index === 0) lines.at(-1)?.push(text);
      else lines.push([text]);
    }
  return lines;
}

function cutUp(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let [at, n] = [0, 0]; at < bytes.length; n += 1) {
    const size = sizes[n % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

test("a line is cut at the same places however it comes in, and never within a character", async () => {
  const line = fc.stringMatching(/^[a-cé€😀]{0,30}$/u);
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 6 }), sizes, async (texts, cuts) => {
      const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(""));
      const whole = await read([bytes]);
      assert.deepEqual(await read(cutUp(bytes, cuts)), whole);
      assert.deepEqual(
        whole.map((pieces) => pieces.join("")),
        texts,
      );
      assert.ok(whole.flat().every((piece) => Buffer.byteLength(piece) <= bounds.mostBytes));
    }),
    { numRuns: runs(100, 2_000) },
  );
});

test("where none may be cut, a line that is too long is rejected before it has ended", async () => {
  await assert.rejects(read([Buffer.from("123456789")], "fail"), TooLong);
  assert.deepEqual(await read([Buffer.from("1234567\n12345678\n")], "fail"), [["1234567"], ["12345678"]]);
});

test("an answer that is silent for too long is left", async () => {
  const body = new Readable({ read: () => undefined });
  const lines = linesOf(body, { ...bounds, tooLong: "cut" });
  body.push("one\n");
  assert.deepEqual((await lines.next()).value?.texts, ["one"]);
  const next = assert.rejects(lines.next(), Silence);
  await clock.advance(bounds.silenceMs);
  await next;
  assert.ok(body.destroyed);
});
