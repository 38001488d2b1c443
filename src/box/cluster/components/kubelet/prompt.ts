/** An interactive shell at a terminal: prompt, echo, backspace, one line after the other. */
import type { Readable, Writable } from "node:stream";

interface Typing {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable;
  /** Whether a person types: what is typed is shown, and keys mean something. */
  readonly isTerminal: boolean;
}

/** Runs every line; when it answers that it is over, the shell ends with its code. */
type Runner = (line: string) => Promise<{ readonly code: number; readonly isOver: boolean }>;

const prompt = "/ # ";
const keys = { interrupt: "\u0003", end: "\u0004", erase: "\u007f", backspace: "\b" };
/** Longer than any line that a person types; what comes after it is lost. */
const mostChars = 4_096;

export async function readLines({ stdin, stdout, isTerminal }: Typing, run: Runner): Promise<number> {
  const show = (text: string) => void (isTerminal && stdout.write(text));
  let line = "";
  let code = 0;
  show(prompt);
  for await (const typed of (stdin?.setEncoding("utf8") ?? []) as AsyncIterable<string>) {
    for (const key of typed) {
      if (key === "\r" || key === "\n") {
        show("\r\n");
        const ran = await run(line);
        if (ran.isOver) return ran.code;
        [line, code] = ["", ran.code];
        show(prompt);
      } else if (!isTerminal) line += key;
      else if (key === keys.interrupt) {
        [line, code] = ["", 130];
        show(`^C\r\n${prompt}`);
      } else if (key === keys.end) {
        // On a line that is not empty it does nothing.
        if (line === "") return code;
      } else if (key === keys.erase || key === keys.backspace) {
        if (line !== "") show("\b \b");
        line = line.slice(0, -1);
      } else if (key >= " " && line.length < mostChars) {
        line += key;
        show(key);
      }
    }
  }
  return line === "" ? code : (await run(line)).code;
}
