import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Writable } from "node:stream";
import { test } from "node:test";
import { ProviderError } from "./errors.ts";
import {
  createLog,
  type Fields,
  type LogLevel,
  type LogOptions,
  logBufferedBytes,
  type RootLog,
  streamDestination,
} from "./log.ts";

/** 2026-01-01T15:04:05.060Z */
const clock = { now: () => 1_767_279_845_060 };

function written(options: LogOptions, say: (log: RootLog) => void): string {
  const lines: string[] = [];
  say(createLog({ clock, ...options, destination: { write: (line) => void lines.push(line), lost: 0 } }));
  return lines.join("");
}

test("the plain format is one line a person can read", () => {
  const text = written({ timestamp: "rfc3339" }, (log) =>
    log
      .with({ module: "journal" })
      .info("opened", { path: "/data dir/x", rows: 5, empty: "", ok: true, at: null, o: { a: [1] } }),
  );
  assert.equal(
    text,
    '2026-01-01T15:04:05Z INFO  journal: opened path="/data dir/x" rows=5 empty="" ok=true at=null o={"a":[1]}\n',
  );
});

test("what has several lines stands indented below its entry", () => {
  const text = written({}, (log) => log.info("first\nsecond", { list: "a\nb", after: 1 }));
  assert.equal(text, "INFO  first after=1\n    second\n    list:\n        a\n        b\n");
});

test("an error shows code, advice, details and its causes with their stacks", () => {
  const cause = new TypeError("no route", { cause: "cable" });
  cause.stack = "TypeError: no route\n    at here";
  const error = new ProviderError("AKP_BUS_UNREACHABLE", { address: "host:1", reason: "no route" }, { cause });
  const text = written({}, (log) => log.error("lost the bus", { error }));
  assert.deepEqual(text.split("\n"), [
    'ERROR lost the bus error="AKP_BUS_UNREACHABLE: the Redis bus at host:1 cannot be reached: no route"',
    `    advice: ${error.advice}`,
    '    details: {"address":"host:1","reason":"no route"}',
    "    caused by: TypeError: no route",
    "        stack:",
    "            TypeError: no route",
    "                at here",
    "        caused by: cable",
    "",
  ]);
});

test("a warning is one line: of an error the title, of a text of several lines all with escapes", () => {
  const error = new ProviderError("AKP_BUS_UNREACHABLE", { address: "host:1", reason: "no route" }, { cause: "cable" });
  assert.equal(
    written({}, (log) => log.warn("lost the bus", { error, list: "a\nb" })),
    'WARN  lost the bus error="AKP_BUS_UNREACHABLE: the Redis bus at host:1 cannot be reached: no route" list="a\\nb"\n',
  );
});

test("an error without a stack shows all lines of its message", () => {
  const error = new ProviderError("AKP_SETTINGS_REFUSED", { count: 2, list: "one\ntwo" });
  const lines = written({}, (log) => log.error("cannot start", { error })).split("\n");
  assert.equal(lines[0], 'ERROR cannot start error="AKP_SETTINGS_REFUSED: 2 settings are wrong:"');
  assert.deepEqual(lines.slice(1, 5), ["    message:", "        2 settings are wrong:", "        one", "        two"]);
});

test("nobody who chooses a name or a text can forge a line or steer the terminal", () => {
  const evil = "a\u001b[2J\r\nINFO  all is well\u0007";
  for (const text of [
    written({}, (log) => log.info(evil)),
    written({}, (log) => log.info("x", { evil })),
    written({}, (log) => log.info("x", { [evil]: evil })),
    written({}, (log) => log.with({ module: evil }).info("x", { error: new Error(evil), list: [evil] })),
  ]) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f]/);
    assert.doesNotMatch(text, /\n(?! {4})./);
  }
});

test("colours mark the level and nothing else", () => {
  const text = written({ color: true }, (log) => log.error("failed", { a: 1 }));
  assert.equal(text, "\u001b[31mERROR\u001b[0m failed a=1\n");
});

test("times are written in the notations of the network's settings", () => {
  const time = (timestamp: "" | "rfc3339" | "rfc3339nano" | "kitchen", format: "plain" | "json", ms = clock.now()) =>
    written({ timestamp, format, clock: { now: () => ms } }, (log) => log.info("x"));
  assert.equal(time("", "plain"), "INFO  x\n");
  assert.equal(time("rfc3339", "plain"), "2026-01-01T15:04:05Z INFO  x\n");
  assert.equal(time("rfc3339nano", "plain"), "2026-01-01T15:04:05.060Z INFO  x\n");
  assert.equal(time("kitchen", "plain"), "3:04PM INFO  x\n");
  assert.equal(time("kitchen", "plain", 0), "12:00AM INFO  x\n");
  assert.equal(time("", "json"), '{"level":"info","time":"2026-01-01T15:04:05.060Z","msg":"x"}\n');
  assert.equal(time("kitchen", "json"), '{"level":"info","time":"3:04PM","msg":"x"}\n');
});

test("the time of a line is that of its own moment", () => {
  let ms = 999;
  const text = written({ timestamp: "rfc3339nano", clock: { now: () => ms } }, (log) => {
    for (ms of [999, 1_000, 1_001, 500]) log.info("x");
  });
  assert.deepEqual(text.match(/\d\d\.\d{3}/g), ["00.999", "01.000", "01.001", "00.500"]);
});

test("each level lets through itself and what is graver", () => {
  const seen = (level: LogLevel) =>
    written({ level }, (log) => {
      log.debug("d");
      log.with({}).info("i");
      log.warn("w");
      log.error("e");
    }).match(/[A-Z]{4,}/g);
  assert.deepEqual(seen("debug"), ["DEBUG", "INFO", "WARN", "ERROR"]);
  assert.deepEqual(seen("info"), ["INFO", "WARN", "ERROR"]);
  assert.deepEqual(seen("warn"), ["WARN", "ERROR"]);
  assert.deepEqual(seen("error"), ["ERROR"]);
});

test("JSON lines hold every field once, under a name of its own", () => {
  const text = written({ format: "json" }, (log) =>
    log
      .with({ module: "bus", a: 1 })
      .info("said", { a: 2, msg: "m", level: 3, time: 4, method: "GET", headers: {}, socket: 5 }),
  );
  const names = [...text.matchAll(/"(\w+)":/g)].map((match) => match[1]);
  assert.deepEqual(new Set(names).size, names.length, text);
  assert.deepEqual(JSON.parse(text), {
    ...{ level: "info", time: "2026-01-01T15:04:05.060Z", module: "bus", a: 2, msg_: "m", level_: 3, time_: 4 },
    ...{ method: "GET", headers: {}, socket: 5, msg: "said" },
  });
});

test("a JSON line shows an error with code, advice and causes", () => {
  const error = new ProviderError("AKP_DISK_FULL", { path: "/data" }, { cause: new Error("ENOSPC") });
  const line = JSON.parse(written({ format: "json" }, (log) => log.error("stopped", { error })));
  assert.equal(line.error.code, "AKP_DISK_FULL");
  assert.equal(line.error.cause.message, "ENOSPC");
});

test("a log call never throws, whatever it is given", () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const strange = [revoked.proxy, null, undefined, 1n, "text", [1], new Map([["a", 1]]), new Error("e"), Symbol("s")];
  for (const format of ["plain", "json"] as const) {
    const text = written({ format }, (log) => {
      for (const any of strange) {
        log.info("x", any as Fields);
        log.info(any as string);
        log.with(any as Fields).info("x");
      }
      assert.equal(log.lost, 0);
    });
    assert.equal(text.match(/^(?! {4})./gm)?.length, 3 * strange.length);
  }
});

test("a destination that throws costs the line, not the caller", () => {
  const destination = {
    write: () => {
      throw new Error("broken");
    },
    lost: 2,
  };
  const log = createLog({ destination });
  log.info("x");
  assert.equal(log.lost, 3);
});

test("lines for a reader that does not keep up are dropped and counted", (t) => {
  const stalled = new Writable({ write: () => undefined });
  t.after(() => stalled.destroy());
  const destination = streamDestination(stalled);
  const line = "x".repeat(logBufferedBytes / 4);
  for (let count = 0; count < 10; count += 1) destination.write(line);
  assert.equal(destination.lost, 5, "four fill the buffer, one more is let in before that is seen");
});

test("a full disk costs the lines meanwhile, a reader that left all lines after", () => {
  const lines: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (line, _encoding, done) => {
      lines.push(line);
      done();
    },
  });
  const log = createLog({ destination: streamDestination(stream) });
  stream.emit("error", Object.assign(new Error("no room"), { code: "ENOSPC" }));
  log.info("after the full disk");
  stream.emit("error", Object.assign(new Error("no reader"), { code: "EPIPE" }));
  log.info("after the reader left");
  assert.deepEqual(lines, ["INFO  after the full disk\n"]);
  assert.equal(log.lost, 3);
});

test("the program outlives whoever read its log", async () => {
  const program = `
    import { createLog } from ${JSON.stringify(join(import.meta.dirname, "log.ts"))};
    const log = createLog();
    process.stdin.once("data", () => {
      for (let line = 0; line < 100; line += 1) log.info("is anybody there");
      setImmediate(() => {
        log.info("one more");
        process.stdout.write(String(log.lost > 0), () => process.exit(7));
      });
    });
    process.stdout.write("ready");
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  const said: string[] = [];
  child.stdout.on("data", (chunk) => said.push(String(chunk)));
  await once(child.stdout, "data");
  child.stderr.destroy();
  child.stdin.write("go");
  const [code] = await once(child, "close");
  assert.deepEqual([code, said.join("")], [7, "readytrue"]);
});
