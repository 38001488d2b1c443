import assert from "node:assert/strict";
import { test } from "node:test";
import { failureFrame, readShellInput, resizeFrame, resultFrame, shellCodes, shellFrame } from "./shell-frames.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

test("frames are the network's, byte by byte", () => {
  assert.equal(hex(shellFrame(shellCodes.stdout, Buffer.from("hi\n"))), "6468690a");
  assert.equal(hex(resizeFrame({ columns: 80, rows: 24 })), "6900500018");
  assert.equal(hex(resultFrame({ exitCode: 0 })), "667b22657869745f636f6465223a307d0a");
  assert.equal(hex(failureFrame), "67");
  const json = resultFrame({ exitCode: 0, message: "<no>" }).subarray(1).toString();
  assert.equal(json, '{"exit_code":0,"message":"\\u003cno\\u003e"}\n');
});

test("what a tenant sends is read by its first byte", () => {
  const read = (bytes: readonly number[], isBinary = true) => readShellInput(Buffer.from(bytes), isBinary);
  assert.deepEqual(read([104, 1, 2]), { kind: "stdin", bytes: Buffer.of(1, 2) });
  assert.deepEqual(read([104]), { kind: "endOfInput" });
  assert.deepEqual(read([105, 0, 132, 0, 43]), { kind: "resize", size: { columns: 132, rows: 43 } });
  for (const nothing of [read([]), read([104, 65], false)]) assert.deepEqual(nothing, { kind: "nothing" });
  for (const unknown of [read([99, 1]), read([105, 0, 80, 0])]) assert.deepEqual(unknown, { kind: "unknown" });
});
