/**
 * A command in a container that we can end. A node leaves a command alone when the connection to it goes, with a terminal and
 * without: it would run on for as long as the container. So a shell of the container starts it, and first tells us the process
 * that it then becomes; another one ends that process. Where there is no shell, the command is started as it is, and it
 * cannot be ended.
 */
import type { Readable } from "node:stream";
import type { ExecOptions, Kube, ObjectAt } from "../../../kube/kube.ts";
import { type Clock, withDeadline } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { kubeCallMs } from "../../../runtime/limits.ts";

/** What the shell of a container tells of a process before it becomes the command: a number. */
const shellWordChars = 32;
/** A command whose tenant has left may tidy up for so long. */
const shellHangUpMs = second;

const shell = ["/bin/sh", "-c"];

/**
 * Given a mark and the command. What cannot be run is detected here, since a shell would have other words for it than a node.
 * It sets no variable: one that the image exports too would reach the command.
 */
export const startScript = `
case $2 in */*) [ -e "$2" ] ;; *) command -v "$2" >/dev/null ;; esac || { printf '%s missing;' "$1"; exit; }
case $2 in */*) [ -x "$2" ] && [ ! -d "$2" ] ;; esac || { printf '%s refused;' "$1"; exit; }
printf '%s %s;' "$1" $$
shift
exec "$@"`;

/**
 * Given a process: hangs up on it and what it started, as a terminal that goes would, and kills those who do not mind. Only one
 * that came from outside is meant: it has no parent in the container, and begins a session.
 */
export const endScript = `
read -r stat </proc/$1/stat || exit 0
case \${stat##*) } in ?" 0 $1 $1 "*) ;; *) exit 0 ;; esac
kill -HUP -$1
sleep ${shellHangUpMs / 1_000}
kill -KILL -$1
exit 0`;

interface ExecDeps {
  readonly kube: Pick<Kube, "exec">;
  readonly clock: Clock;
}

/** `mark`: random, so that no other output begins with it. */
export async function startHeld(at: ObjectAt, options: ExecOptions, mark: string, { kube, clock }: ExecDeps) {
  const command = [...shell, startScript, "sh", mark, ...options.command];
  const session = await kube.exec(at, { ...options, command });
  const reported = await withDeadline(clock, kubeCallMs, firstWords(session.stdout, mark), () => "late");
  if (reported !== undefined && /^\d+$/.test(reported)) return { session, process: reported };
  try {
    if (reported === "missing") throw new ProviderError("AKP_SHELL_NO_SUCH_COMMAND", {});
    if (reported !== undefined) throw notStarted();
    // It ended without a word of ours: there is no such shell, unless there is worse.
    const over = session.exit.then(() => undefined, shellError);
    const failed = await withDeadline(clock, kubeCallMs, over, () => Promise.reject(notStarted()));
    if (failed && !failed.code.startsWith("AKP_SHELL_NO")) throw failed;
  } finally {
    // The shell is the tenant's: one of their own making may stay for ever.
    session.close();
  }
  return { session: await kube.exec(at, options), process: undefined };
}

/** What stands behind the mark; undefined where the output does not begin with it. The rest of the output is left. */
function firstWords(stdout: Readable, mark: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0);
    function done(words: string | undefined, rest: Buffer): void {
      stdout.off("readable", look).off("close", ended).off("end", ended);
      if (rest.length > 0) stdout.unshift(rest);
      resolve(words);
    }
    // Nothing can be put back into what has ended: that would be an unhandled error.
    const ended = () => done(undefined, Buffer.alloc(0));
    function look(): void {
      for (let piece = stdout.read() as Buffer | null; piece !== null; piece = stdout.read() as Buffer | null) {
        seen = Buffer.concat([seen, piece]);
        const end = seen.indexOf(";");
        if (end < 0 && seen.length <= mark.length + shellWordChars) continue;
        const [begin = "", words] = seen.toString("latin1", 0, Math.max(0, end)).split(" ");
        if (begin === mark) done(words, seen.subarray(end + 1));
        else done(undefined, seen);
        return;
      }
    }
    stdout.on("readable", look).on("close", ended).on("end", ended);
  });
}

function notStarted(): ProviderError {
  return new ProviderError("AKP_SHELL_NOT_STARTED", {});
}

export async function endHeld(
  at: ObjectAt,
  { container, process }: { readonly container: string; readonly process: string },
  { kube, clock }: ExecDeps,
  signal: AbortSignal,
): Promise<void> {
  const session = await kube.exec(at, { container, command: [...shell, endScript, "sh", process], signal });
  for (const output of [session.stdout, session.stderr]) output.resume();
  await withDeadline(clock, kubeCallMs, session.exit, () => {
    session.close();
    throw new Error("the shell of the container does not end");
  });
}

// Why a command was not started, as far as its tenant may know it.

const words = [
  [/container not found|is not running|not created|is waiting to start/, "AKP_SHELL_NOT_RUNNING"],
  [/executable file not found|no such file or directory/, "AKP_SHELL_NO_SUCH_COMMAND"],
  [/unable to start container process|OCI runtime exec failed|failed to exec in container/, "AKP_SHELL_NOT_STARTED"],
] as const;

/** A node has no codes for it, only words. What is none of these comes back as it is. */
export function shellError(thrown: unknown): ProviderError {
  const error = ProviderError.from(thrown);
  if (error.code === "AKP_KUBE_NOT_FOUND") return new ProviderError("AKP_SHELL_NOT_RUNNING", {}, { cause: thrown });
  if (error.code !== "AKP_KUBE_FAILED") return error;
  const reason = String(error.details["reason"]);
  const code = words.find(([said]) => said.test(reason))?.[1];
  return code === undefined ? error : new ProviderError(code, {}, { cause: thrown });
}
