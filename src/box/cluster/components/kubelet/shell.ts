/** A shell that knows enough to look around in a container that is none, and to test what carries it. */
import { PassThrough } from "node:stream";
import { endScript, startScript } from "../../../../cluster/leases/tenant-pods/lease-shell.ts";
import type { ExecStreams, TerminalSize } from "./pod-runtime.ts";
import type { Process, Processes } from "./processes.ts";
import { print, programs } from "./programs.ts";
import { readLines } from "./prompt.ts";
import { openTerminal, terminalOutput } from "./terminal.ts";

export interface ShellSeat extends ExecStreams {
  /** The last reported size of the terminal. */
  readonly size: () => TerminalSize | undefined;
  readonly surroundings: Surroundings;
  readonly processes: Processes;
  /** The one that it is. */
  readonly process: Process;
  /** Aborted when it is killed. */
  readonly signal: AbortSignal;
  readonly isTerminal: boolean;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

interface Surroundings {
  /** The name of the pod. */
  readonly host: string;
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** There, and no programs. */
const notExecutable: readonly string[] = ["/tmp", "/etc", "/etc/hostname"];

type Found = { readonly kind: "shell" | "program" | "missing" | "denied"; readonly name: string };

function find(path: string): Found {
  const name = path.replace(/^(\/usr)?\/bin\//, "");
  if (notExecutable.includes(path)) return { kind: "denied", name };
  if (["sh", "bash", "ash"].includes(name)) return { kind: "shell", name };
  return { kind: programs.has(name) ? "program" : "missing", name };
}

/** The exit code; or why it cannot be run. */
export async function runProgram(command: readonly string[], seat: ShellSeat): Promise<number | "missing" | "denied"> {
  const [path = "", ...words] = command;
  const { kind, name } = find(path);
  if (kind === "missing" || kind === "denied") return kind;
  // These two it knows by heart, as it would not understand them.
  if (kind === "shell" && words[1] === startScript) return startHeld(words.slice(3), seat);
  if (kind === "shell" && words[1] === endScript) return endHeld(Number(words[3]), seat);
  if (kind === "shell" && words[0] !== "-c") return typeInto(seat);
  const own = seat.isTerminal ? atTerminal(seat) : seat;
  if (kind === "shell") return (await runScript(words[1] ?? "", own)).code;
  return (await programs.get(name)?.(words, own)) ?? "missing";
}

async function startHeld([mark, ...command]: readonly string[], seat: ShellSeat) {
  const { kind } = find(command[0] ?? "");
  const isWrong = kind === "missing" || kind === "denied";
  seat.process.words = command;
  seat.stdout.write(`${mark} ${isWrong ? kind : seat.process.id};`);
  return isWrong ? 0 : runProgram(command, seat);
}

function endHeld(id: number, { processes }: ShellSeat): number {
  processes.get(id)?.kill(1);
  return 0;
}

function atTerminal(seat: ShellSeat): ShellSeat {
  const ends = openTerminal({ ...seat, interrupt: () => seat.process.kill(2) });
  return { ...seat, ...ends, stderr: ends.stdout };
}

interface Ran {
  readonly code: number;
  readonly isOver: boolean;
}

async function runScript(script: string, seat: ShellSeat, before = 0): Promise<Ran> {
  let code = before;
  for (const line of script.split(";")) {
    const words = wordsOf(expanded(line.trim(), code, seat));
    if (words[0] === "exit") return { code: Number(words[1] ?? code), isOver: true };
    if (words.length > 0) code = await runPipe(words, seat);
  }
  return { code, isOver: false };
}

/** One after the other: what they pass on is little. The code is the last one's. */
async function runPipe(words: readonly string[], seat: ShellSeat): Promise<number> {
  const end = words.indexOf("|");
  const [name = "", ...others] = end < 0 ? words : words.slice(0, end);
  const pipe = end < 0 ? undefined : new PassThrough({ highWaterMark: 2 ** 20 });
  const program = programs.get(name);
  const own = pipe ? { ...seat, stdout: pipe } : seat;
  const code = program ? await program(others, own) : print(seat.stderr, `sh: ${name}: not found`, 127);
  if (!pipe) return code;
  pipe.end();
  return runPipe(words.slice(end + 1), { ...seat, stdin: pipe });
}

/** What stands between quotes is one word, as it is. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|[^\s']+/g)].map(([word, quoted]) => quoted ?? word);
}

function expanded(text: string, code: number, { surroundings, process }: ShellSeat): string {
  const { environment } = surroundings;
  return text.replace(/\$(\?|\$|\w+)/g, (_, name: string) => {
    if (name === "?") return String(code);
    if (name === "$") return String(process.id);
    return Object.hasOwn(environment, name) ? (environment[name] ?? "") : "";
  });
}

/** What is typed is the shell's: a program that it runs gets none of it. */
function typeInto(seat: ShellSeat): Promise<number> {
  const output = seat.isTerminal ? terminalOutput(seat.stdout) : undefined;
  const own = { ...seat, stdin: undefined, ...(output && { stdout: output, stderr: output }) };
  let code = 0;
  return readLines(seat, async (line) => {
    const ran = await runScript(line, own, code);
    code = ran.code;
    return ran;
  });
}
