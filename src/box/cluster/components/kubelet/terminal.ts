/** What a kernel does between a person and a program at a terminal: shows what is typed, and gives it on line by line. */
import { PassThrough, type Readable, Writable } from "node:stream";

interface Ends {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable;
  /** Ctrl-C. */
  readonly interrupt: () => void;
}

export function openTerminal({ stdin, stdout, interrupt }: Ends): {
  readonly stdin: Readable;
  readonly stdout: Writable;
} {
  const lines = new PassThrough();
  const output = terminalOutput(stdout);
  let line = "";
  const key = {
    "\u0003": () => {
      stdout.write("^C");
      interrupt();
    },
    "\u0004": () => {
      if (line === "") lines.end();
      else lines.write(line);
      line = "";
    },
  } as Readonly<Record<string, () => void>>;
  stdin?.setEncoding("utf8").on("data", (typed: string) => {
    for (const each of typed) {
      const does = Object.hasOwn(key, each) ? key[each] : undefined;
      if (does) {
        does();
        continue;
      }
      output.write(each);
      line += each;
      if (each !== "\n") continue;
      lines.write(line);
      line = "";
    }
  });
  return { stdin: lines, stdout: output };
}

/** On a terminal a new line begins on the left. */
export function terminalOutput(stdout: Writable): Writable {
  return new Writable({
    write(chunk: Buffer, _, done) {
      stdout.write(chunk.toString("latin1").replaceAll("\n", "\r\n"), "latin1");
      done();
    },
  });
}
