import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { createProcesses } from "./processes.ts";
import { runProgram } from "./shell.ts";

const surroundings = { host: "web-0", image: "nginx:1.27", environment: { GREETING: "hello" } };

async function run(command: readonly string[], typed: string, isTerminal = true) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const processes = createProcesses();
  const process = processes.start(command);
  const size = () => ({ columns: 80, rows: 24 });
  const streams = { stdin, stdout, stderr: isTerminal ? stdout : stderr, onResize: () => undefined };
  const own = { processes, process, signal: process.signal, isTerminal, sleep: () => Promise.resolve() };
  const seat = { ...streams, ...own, size, surroundings };
  stdin.end(typed);
  const code = await runProgram(command, seat);
  for (const stream of [stdout, stderr]) stream.end();
  return { code, said: await text(stdout), complained: await text(stderr) };
}

test("a person at a terminal sees a prompt, what is typed, fixed, and what it says", async () => {
  const { code, said } = await run(["/bin/sh"], "echp\u007fo $GREETING\rhostname\rnothing\recho $?\rexit 3\rls\r");
  const lines = [
    "/ # echp\b \bo $GREETING",
    "hello",
    "/ # hostname",
    "web-0",
    "/ # nothing",
    "sh: nothing: not found",
    "/ # echo $?",
    "127",
    "/ # exit 3",
    "",
  ];
  assert.equal(said, lines.join("\r\n"));
  assert.equal(code, 3);
});

test("Ctrl-C drops a line, and Ctrl-D on an empty one ends the shell", async () => {
  const { code, said } = await run(["bash"], "exit 9\u0003\u007ftrue\r\u0004exit 8\r");
  assert.deepEqual([code, said], [0, "/ # exit 9^C\r\n/ # true\r\n/ # "]);
});

test("lines of a file are run without a prompt, the last one without its end too", async () => {
  const { code, said, complained } = await run(["sh"], "stty size\nwhere\nfalse", false);
  assert.deepEqual([code, said, complained], [1, "24 80\n", "sh: where: not found\n"]);
});
