/** A shell that knows enough to look around in a container that is none, and to test what carries it. */
import { once } from "node:events";
import { Writable } from "node:stream";
import type { ExecStreams, TerminalSize } from "./pod-runtime.ts";
import { readLines } from "./prompt.ts";

export interface ShellSeat extends ExecStreams {
  /** The last size of the terminal that was told. */
  readonly size: () => TerminalSize | undefined;
  /** Where it runs. */
  readonly place: ShellPlace;
}

interface ShellPlace {
  /** The name of the pod. */
  readonly host: string;
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** The exit code; undefined when there is no such program. */
export async function runProgram(command: readonly string[], seat: ShellSeat): Promise<number | undefined> {
  const [path = "", ...words] = command;
  const program = path.replace(/^(\/usr)?\/bin\//, "");
  if (!isShell(program)) return programs[program]?.(words, seat);
  return words[0] === "-c" ? (await runScript(words[1] ?? "", seat)).code : typeInto(seat);
}

const isShell = (program: string) => program === "sh" || program === "bash" || program === "ash";

type Program = (words: readonly string[], seat: ShellSeat) => Promise<number> | number;

const programs: Readonly<Record<string, Program>> = {
  echo(words, { stdout, stderr }) {
    // ">&2" sends it where errors go.
    const [out, text] = words.at(-1) === ">&2" ? [stderr, words.slice(0, -1)] : [stdout, words];
    return print(out, text.join(" "));
  },
  async cat(_, { stdin, stdout, signal }) {
    for await (const chunk of stdin ?? []) {
      signal.throwIfAborted();
      if (!stdout.write(chunk)) await once(stdout, "drain", { signal });
    }
    return 0;
  },
  stty: (_, { size, stdout }) => print(stdout, `${size()?.rows ?? 0} ${size()?.columns ?? 0}`),
  true: () => 0,
  false: () => 1,
  hostname: (_, { place, stdout }) => print(stdout, place.host),
  env: (_, { place, stdout }) =>
    print(
      stdout,
      Object.entries(place.environment)
        .map(([name, value]) => `${name}=${value}`)
        .join("\n"),
    ),
  ps: (_, { place, stdout }) =>
    print(stdout, `PID   USER     COMMAND\n    1 root     ${place.image}\n    7 root     sh`),
  ls: (_, { stdout }) => print(stdout, "bin  dev  etc  home  lib  proc  root  sys  tmp  usr  var"),
  pwd: (_, { stdout }) => print(stdout, "/"),
  whoami: (_, { stdout }) => print(stdout, "root"),
  uname: (_, { stdout }) => print(stdout, "Linux"),
  help: (_, { stdout }) =>
    print(stdout, `This container is simulated. It knows: ${Object.keys(programs).join(", ")}, exit`),
};

interface Ran {
  readonly code: number;
  readonly isOver: boolean;
}

async function runScript(script: string, seat: ShellSeat, before = 0): Promise<Ran> {
  let code = before;
  for (const line of script.split(";")) {
    const [program = "", ...words] = expanded(line.trim(), code, seat).split(/\s+/);
    if (program === "exit") return { code: Number(words[0] ?? code), isOver: true };
    if (program === "") continue;
    code = (await programs[program]?.(words, seat)) ?? print(seat.stderr, `sh: ${program}: not found`, 127);
  }
  return { code, isOver: false };
}

function expanded(text: string, code: number, { place }: ShellSeat): string {
  const { environment } = place;
  return text.replace(/\$(\?|\w+)/g, (_, name: string) =>
    name === "?" ? String(code) : Object.hasOwn(environment, name) ? (environment[name] ?? "") : "",
  );
}

/** With a terminal both outputs are the same. What is typed is the shell's: a program that it runs gets none of it. */
function typeInto(seat: ShellSeat): Promise<number> {
  const isTerminal = seat.stdout === seat.stderr;
  const output = isTerminal ? terminalOutput(seat.stdout) : undefined;
  const own = { ...seat, stdin: undefined, ...(output && { stdout: output, stderr: output }) };
  let code = 0;
  return readLines({ ...seat, isTerminal }, async (line) => {
    const ran = await runScript(line, own, code);
    code = ran.code;
    return ran;
  });
}

/** On a terminal a new line begins on the left. */
function terminalOutput(stdout: Writable): Writable {
  return new Writable({
    write(chunk: Buffer, _, done) {
      stdout.write(chunk.toString().replaceAll("\n", "\r\n"));
      done();
    },
  });
}

function print(out: Writable, text: string, code = 0): number {
  out.write(`${text}\n`);
  return code;
}
