/** A shell that knows just enough to test what carries it: echo, cat, env, hostname, stty size, sleep, true, false, exit. */
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { type Clock, sleep } from "../../../../runtime/clock.ts";
import type { TerminalSize } from "../../pod-runtime.ts";

export interface ShellSeat {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string>>;
  readonly hostname: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The last size of the terminal that was told. */
  readonly size: () => TerminalSize | undefined;
}

type Command = (words: readonly string[], seat: ShellSeat, out: Writable) => Promise<number> | number;

/** The exit code; undefined when there is no such program. */
export async function runProgram(command: readonly string[], seat: ShellSeat): Promise<number | undefined> {
  const [program = "", ...words] = command;
  if (shells.includes(program) && words[0] === "-c") return runScript(words[1] ?? "", seat);
  if (shells.includes(program)) return runScript(await textOf(seat.stdin), seat);
  return programs[program]?.(words, seat, seat.stdout);
}

const shells = ["sh", "/bin/sh", "bash", "/bin/bash"];

const programs: Readonly<Record<string, Command>> = {
  echo: (words, _, out) => print(out, `${words.join(" ")}\n`),
  cat: async (words, seat, out) => (words.length > 0 ? noSuchFile(words[0] ?? "", seat) : copy(seat, out)),
  env: (_, { env }, out) =>
    print(
      out,
      Object.entries(env)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(""),
    ),
  hostname: (_, seat, out) => print(out, `${seat.hostname}\n`),
  stty: (_, { size }, out) => print(out, `${size()?.rows ?? 0} ${size()?.columns ?? 0}\n`),
  sleep: async (words, { clock, signal }) => {
    await sleep(clock, Number(words[0] ?? 0) * 1_000, signal);
    return 0;
  },
  true: () => 0,
  false: () => 1,
};

/** Commands one after the other; "&&" and "||" look at how the one before ended. */
async function runScript(script: string, seat: ShellSeat): Promise<number> {
  let code = 0;
  let joint = ";";
  for (const piece of script.split(/(;|&&|\|\||\n)/)) {
    if (/^(;|&&|\|\||\n)$/.test(piece)) {
      joint = piece;
      continue;
    }
    const { words, toStderr } = wordsOf(piece, seat.env);
    const [program, ...rest] = words;
    if (program === undefined || (joint === "&&" && code !== 0) || (joint === "||" && code === 0)) continue;
    if (program === "exit") return Number(rest[0] ?? code);
    const run = programs[program];
    code = run ? await run(rest, seat, toStderr ? seat.stderr : seat.stdout) : notFound(program, seat);
  }
  return code;
}

/** Words between blanks, with quotes and variables; ">&2" sends the output where errors go. */
function wordsOf(text: string, env: Readonly<Record<string, string>>): { words: string[]; toStderr: boolean } {
  const found = text.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  const words = found.map((word) =>
    word.replace(/"([^"]*)"|'([^']*)'|([^"']+)/g, (_, double?: string, single?: string, bare?: string) =>
      single === undefined ? withVariables(double ?? bare ?? "", env) : single,
    ),
  );
  return { words: words.filter((word) => word !== ">&2" && word !== "1>&2"), toStderr: /1?>&2/.test(text) };
}

function withVariables(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{?(\w+)\}?/g, (_, name: string) => env[name] ?? "");
}

function print(out: Writable, text: string): number {
  out.write(text);
  return 0;
}

async function copy({ stdin, signal }: ShellSeat, out: Writable): Promise<number> {
  if (!stdin) return 0;
  for await (const chunk of stdin) {
    signal.throwIfAborted();
    if (!out.write(chunk)) await once(out, "drain", { signal });
  }
  return 0;
}

async function textOf(stdin: Readable | undefined): Promise<string> {
  let text = "";
  for await (const chunk of stdin ?? []) text += String(chunk);
  return text;
}

function noSuchFile(path: string, { stderr }: ShellSeat): number {
  print(stderr, `cat: ${path}: No such file or directory\n`);
  return 1;
}

function notFound(program: string, { stderr }: ShellSeat): number {
  print(stderr, `sh: ${program}: not found\n`);
  return 127;
}
