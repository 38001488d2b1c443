/** What people and tests run in a simulated container. Each is as much of the real one as they need. */
import { once } from "node:events";
import { Readable, type Writable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import type { ShellSeat } from "./shell.ts";

type Program = (words: readonly string[], seat: ShellSeat) => Promise<number> | number;

const table: Readonly<Record<string, Program>> = {
  echo(words, { stdout, stderr }) {
    // ">&2" sends it where errors go.
    const [out, said] = words.at(-1) === ">&2" ? [stderr, words.slice(0, -1)] : [stdout, words];
    return print(out, said.join(" "));
  },
  async cat(_, { stdin, stdout, signal }) {
    for await (const chunk of stdin ?? []) {
      signal.throwIfAborted();
      if (!stdout.write(chunk)) await once(stdout, "drain", { signal });
    }
    return 0;
  },
  async yes([word = "y"], { stdout, signal }) {
    const many = Buffer.from(`${word}\n`.repeat(4_096));
    for (;;) {
      signal.throwIfAborted();
      if (!stdout.write(many)) await once(stdout, "drain", { signal });
    }
  },
  stty: (_, { size, stdout }) => print(stdout, `${size()?.rows ?? 0} ${size()?.columns ?? 0}`),
  tty: (_, { stdout, isTerminal }) => (isTerminal ? print(stdout, "/dev/pts/0") : print(stdout, "not a tty", 1)),
  true: () => 0,
  false: () => 1,
  async sleep([seconds = "0"], { sleep, signal }) {
    await sleep(Number(seconds) * 1_000, signal);
    return 0;
  },
  kill([signal = "-15", id = ""], { processes }) {
    processes.get(Number(id))?.kill(-Number(signal));
    return 0;
  },
  async head([flag, count = "10", path], { stdin, stdout }) {
    if (flag === "-c" && path === "/dev/zero") return write(stdout, Buffer.alloc(Number(count)));
    let seen = "";
    const isEnough = () => seen.split("\n").length > Number(count);
    for await (const chunk of stdin ?? []) {
      seen += String(chunk);
      if (isEnough()) break;
    }
    const lines = seen.split("\n").slice(0, Number(count));
    return write(stdout, isEnough() ? `${lines.join("\n")}\n` : seen);
  },
  async tr([from = "", to = ""], { stdin, stdout }) {
    const read = (await buffer(stdin ?? Readable.from([]))).toString("latin1");
    return write(stdout, Buffer.from(read.replaceAll(unescaped(from), to), "latin1"));
  },
  async grep([pattern = ""], { stdin, stdout }) {
    const begin = pattern.replace(/^\^/, "");
    const found = (await text(stdin ?? Readable.from([])))
      .split("\n")
      .filter((line) => line !== "" && line.startsWith(begin));
    return found.length > 0 ? print(stdout, found.join("\n")) : 1;
  },
  async sort(_, { stdin, stdout }) {
    const lines = (await text(stdin ?? Readable.from([]))).split("\n").filter((line) => line !== "");
    return lines.length > 0 ? print(stdout, lines.sort().join("\n")) : 0;
  },
  printf: ([form = ""], { stdout }) => write(stdout, Buffer.from(unescaped(form), "latin1")),
  hostname: (_, { surroundings, stdout }) => print(stdout, surroundings.host),
  env: (_, { surroundings, stdout }) =>
    print(
      stdout,
      Object.entries(surroundings.environment)
        .map(([name, value]) => `${name}=${value}`)
        .join("\n"),
    ),
  ps([, only], { surroundings, processes, stdout }) {
    const all = [{ id: 1, words: [surroundings.image] }, ...processes.list()];
    if (only === "args") return print(stdout, ["COMMAND", ...all.map(({ words }) => words.join(" "))].join("\n"));
    const rows = all.map(({ id, words }) => `${String(id).padStart(5)} root     ${words.join(" ")}`);
    return print(stdout, ["PID   USER     COMMAND", ...rows].join("\n"));
  },
  ls: ([flag, path], { stdout }) =>
    print(stdout, flag === "-d" ? (path ?? ".") : "bin  dev  etc  home  lib  proc  root  sys  tmp  usr  var"),
  pwd: (_, { stdout }) => print(stdout, "/"),
  whoami: (_, { stdout }) => print(stdout, "root"),
  uname: (_, { stdout }) => print(stdout, "Linux"),
  help: (_, { stdout }) =>
    print(stdout, `This container is simulated. It knows: ${[...programs.keys()].join(", ")}, exit`),
};

/** By name, and by nothing that an object has by itself. */
export const programs: ReadonlyMap<string, Program> = new Map(Object.entries(table));

export function print(out: Writable, said: string, code = 0): number {
  out.write(`${said}\n`);
  return code;
}

function write(out: Writable, bytes: string | Uint8Array): number {
  out.write(bytes);
  return 0;
}

/** "\n" and bytes in octal, as "\0" and "\377". */
function unescaped(form: string): string {
  return form.replace(/\\(n|[0-7]{1,3})/g, (_, code: string) =>
    code === "n" ? "\n" : String.fromCharCode(Number.parseInt(code, 8)),
  );
}
