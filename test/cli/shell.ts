/** A terminal in which a person pastes one line after the other. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Owner } from "../support/owner.ts";

export interface Shell {
  /** Types a line as it is, and gives what it said and its exit code. */
  paste(line: string): Promise<{ readonly said: string; readonly code: number }>;
}

/** In the folder of the repository, where the program is told to be. */
export function openShell(owner: Owner): Shell {
  const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
  const child = spawn("sh", [], {
    ...{ cwd: join(import.meta.dirname, "../.."), stdio: ["pipe", "pipe", "pipe"] },
    env: { PATH, NODE_COMPILE_CACHE, HOME: "/nonexistent" },
  });
  let said = "";
  const read = child.stdout.setEncoding("utf8");
  for (const channel of [read, child.stderr.setEncoding("utf8")]) {
    channel.on("data", (text: string) => {
      said += text;
    });
  }
  const closed = once(child, "close");
  owner.after(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  let count = 0;
  return {
    async paste(line) {
      said = "";
      const end = new RegExp(`\n?end of line ${++count}: (\\d+)\n`);
      child.stdin.write(`${line}\necho "end of line ${count}: $?"\n`);
      for (;;) {
        const [whole, code] = end.exec(said) ?? [];
        if (whole !== undefined) return { said: said.replace(whole, "\n"), code: Number(code) };
        await Promise.race([once(read, "data"), closed.then(() => Promise.reject(new Error(`no shell: ${said}`)))]);
      }
    },
  };
}
