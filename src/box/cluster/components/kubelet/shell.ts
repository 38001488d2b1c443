/** A shell that knows just enough to test what carries it: echo, cat, stty size, true and exit. */
import { once } from "node:events";
import type { Writable } from "node:stream";
import type { ExecStreams, TerminalSize } from "./pod-runtime.ts";

interface ShellSeat extends ExecStreams {
  /** The last size of the terminal that was told. */
  readonly size: () => TerminalSize | undefined;
}

/** The exit code; undefined when there is no such program. */
export async function runProgram(command: readonly string[], seat: ShellSeat): Promise<number | undefined> {
  const [program = "", ...words] = command;
  return program === "sh" && words[0] === "-c" ? runScript(words[1] ?? "", seat) : programs[program]?.(words, seat);
}

const programs: Readonly<Record<string, (words: readonly string[], seat: ShellSeat) => Promise<number> | number>> = {
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
};

async function runScript(script: string, seat: ShellSeat): Promise<number> {
  let code = 0;
  for (const line of script.split(";")) {
    const [program = "", ...words] = line.trim().split(/\s+/);
    if (program === "exit") return Number(words[0] ?? code);
    code = (await programs[program]?.(words, seat)) ?? print(seat.stderr, `sh: ${program}: not found`, 127);
  }
  return code;
}

function print(out: Writable, text: string, code = 0): number {
  out.write(`${text}\n`);
  return code;
}
