/** `akash-provider lease-shell`: a command in a container of a lease, or a shell there, as if it ran in this terminal. */
import { spawnSync } from "node:child_process";
import { constants } from "node:os";
import type { Command } from "commander";
import { openShell, type ProviderShell } from "../gateway/client/provider-shell.ts";
import { writeOutput } from "./lease-streams.ts";
import { leasePath } from "./provider-requests.ts";
import { withLessor } from "./reach.ts";
import { type LeaseFlags, leaseFlags, plainSwitch, providerCommand, replicaFlag } from "./tenant-flags.ts";

interface ShellFlags extends LeaseFlags {
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly replicaIndex: number;
}

export function leaseShellCommand(): Command {
  const options = [
    ...leaseFlags(),
    plainSwitch("stdin", "give it what this command is given"),
    plainSwitch("tty", "on a terminal, which is this one; with its keyboard too"),
    replicaFlag(),
  ];
  const command = providerCommand(
    "lease-shell <service> <command...>",
    "run a command in a container of a lease; in quotes, or after --, it may have flags of its own",
    options,
  );
  return command.action((service: string, words: readonly string[], flags: ShellFlags, given: Command) => {
    if (flags.tty && !process.stdin.isTTY)
      given.error("error: --tty needs a terminal, and the input of this command is none");
    const asked = commandOf(words, (why) => given.error(`error: ${why}`));
    return withLessor(flags, given, async ({ client }) => {
      const left = leaveOnSignals(flags.tty);
      const { signal } = left;
      const { tty, replicaIndex: podIndex } = flags;
      const stdin = flags.stdin || tty;
      const channels = { stdout: process.stdout, stderr: process.stderr };
      const shell = await openShell(client, {
        ...{ leasePath: leasePath(flags), service, podIndex, command: asked, tty, stdin, signal },
        onOutput: (channel, bytes) => writeOutput(bytes, channels[channel]),
      });
      const letGo = [...(tty ? [takeTerminal(shell)] : []), ...(stdin ? [feed(shell)] : [])];
      try {
        process.exitCode = await shell.exit;
      } catch (thrown) {
        if (!signal.aborted) throw thrown;
        process.exitCode = 128 + constants.signals[signal.reason as NodeJS.Signals];
      } finally {
        for (const undo of letGo) undo();
      }
    });
  });
}

/** One word alone is split at spaces, as the network's CLI does; double quotes keep together what is between them. */
export function commandOf(given: readonly string[], refuse: (why: string) => never): readonly string[] {
  const [only = ""] = given;
  const isWhole = given.length > 1;
  if (!isWhole && (only.split('"').length - 1) % 2 === 1) {
    refuse("a double quote of the command is never closed");
  }
  const pieces = only.match(/(?:[^\s"]|"[^"]*")+/g) ?? [];
  const words = isWhole ? given : pieces.map((piece) => piece.replaceAll('"', ""));
  // Providers read words up to the first empty one.
  if (words.length === 0 || words.includes("")) refuse("no word of the command may be empty");
  return words;
}

/** In a terminal Ctrl-C is the remote command's. */
function leaveOnSignals(tty: boolean): AbortController {
  const abort = new AbortController();
  for (const name of ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT"] as const) {
    process.on(name, () => {
      if (name !== "SIGINT" || !tty) abort.abort(name);
    });
  }
  return abort;
}

/** Every key is the remote command's, and so is every new size. */
function takeTerminal(shell: ProviderShell): () => void {
  const { stdin, stdout } = process;
  const tell = () => void shell.resize({ columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 });
  stdin.setRawMode(true);
  // Node leaves it to the terminal to begin new lines on the left, which is the remote one's business: it would tear what an editor
  // draws. What is left of it without stty is still a shell. Both are put back together, at the latest when this process ends.
  spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
  stdout.on("resize", tell);
  tell();
  return () => {
    stdout.off("resize", tell);
    stdin.setRawMode(false);
  };
}

/** Gives it our input at the pace at which it takes it. */
function feed(shell: ProviderShell): () => void {
  const { stdin } = process;
  let isOver = false;
  const onData = (bytes: Buffer) => {
    stdin.pause();
    void shell.write(bytes).then(() => isOver || stdin.resume());
  };
  const onEnd = () => void shell.endInput();
  stdin.on("data", onData).once("end", onEnd);
  return () => {
    isOver = true;
    stdin.off("data", onData).off("end", onEnd).pause();
  };
}
