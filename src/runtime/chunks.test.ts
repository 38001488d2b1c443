import assert from "node:assert/strict";
import { PassThrough, Readable } from "node:stream";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { eventually } from "../../test/support/eventually.ts";
import { chunksOf, forEachChunk } from "./chunks.ts";

test("pieces are no longer than they may be, in order, and none comes before the one before it is taken", async () => {
  const stream = new PassThrough();
  stream.end("abcdefgh");
  const [taken, taking]: [string[], PromiseWithResolvers<void>[]] = [[], []];
  const done = forEachChunk(chunksOf(stream, 3), (piece) => {
    taken.push(piece.toString());
    const isTaken = Promise.withResolvers<void>();
    taking.push(isTaken);
    return isTaken.promise;
  });
  for (const expected of [["abc"], ["abc", "def"], ["abc", "def", "gh"]]) {
    await eventually("the next piece", () => isDeepStrictEqual(taken, expected));
    taking.at(-1)?.resolve();
  }
  await done;
});

test("what comes later is handed on too", async () => {
  const stream = new PassThrough();
  const taken: string[] = [];
  const done = forEachChunk(chunksOf(stream, 10), (piece) => void taken.push(piece.toString()));
  for (const expected of [["one"], ["one", "two"]]) {
    stream.write(expected.at(-1));
    await eventually("what was written", () => isDeepStrictEqual(taken, expected));
  }
  stream.end();
  await done;
});

test("a stream that fails, or breaks off without an end, is an error", async () => {
  const failing = new PassThrough();
  const failed = forEachChunk(chunksOf(failing, 10), () => undefined);
  failing.destroy(new Error("no more"));
  await assert.rejects(failed, /no more/);
  const broken = new Readable({ read: () => undefined });
  const broke = forEachChunk(chunksOf(broken, 10), () => undefined);
  broken.destroy();
  await assert.rejects(broke, /broke off/);
});

test("who waits for more can be told to give up", async () => {
  const pieces = chunksOf(new PassThrough(), 10);
  const more = pieces.more();
  pieces.giveUp(new Error("too late"));
  await assert.rejects(more, /too late/);
});
