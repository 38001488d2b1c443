import assert from "node:assert/strict";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { createVirtualClock } from "../../../../runtime/clock.ts";
import { runProgram } from "./shell.ts";

async function run(command: readonly string[], stdin?: string) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await runProgram(command, {
    stdin: stdin === undefined ? undefined : Readable.from([stdin]),
    stdout,
    stderr,
    env: { NAME: "akash" },
    hostname: "web-0",
    clock: createVirtualClock(),
    signal: new AbortController().signal,
    size: () => ({ columns: 80, rows: 24 }),
  });
  stdout.end();
  stderr.end();
  return { code, out: await text(stdout), err: await text(stderr) };
}

test("the programs of a container print what one expects", async () => {
  assert.deepEqual(await run(["echo", "a", "b"]), { code: 0, out: "a b\n", err: "" });
  assert.deepEqual(await run(["cat"], "input"), { code: 0, out: "input", err: "" });
  assert.deepEqual(await run(["env"]), { code: 0, out: "NAME=akash\n", err: "" });
  assert.deepEqual(await run(["hostname"]), { code: 0, out: "web-0\n", err: "" });
  assert.deepEqual(await run(["stty", "size"]), { code: 0, out: "24 80\n", err: "" });
  assert.equal((await run(["nothing"])).code, undefined);
});

test("a script runs its commands in turn and ends with the code it says", async () => {
  const script = "cat; echo done >&2; exit 3";
  assert.deepEqual(await run(["sh", "-c", script], "in"), { code: 3, out: "in", err: "done\n" });
  assert.deepEqual(await run(["sh", "-c", "false && echo no || echo 'to $NAME'; echo \"$NAME\""]), {
    code: 0,
    out: "to $NAME\nakash\n",
    err: "",
  });
  assert.deepEqual(await run(["sh", "-c", "nothing"]), { code: 127, out: "", err: "sh: nothing: not found\n" });
  assert.deepEqual(await run(["sh"], "echo one\nexit 4\n"), { code: 4, out: "one\n", err: "" });
});
