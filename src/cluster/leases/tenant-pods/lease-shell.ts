/** Runs commands in the containers of a lease, for its tenant. None of them outlives its connection. */
import type { Readable } from "node:stream";
import type { ExecOptions, ExecSession, Kube, ObjectAt } from "../../../kube/kube.ts";
import type { CommandRequest } from "../../../kube/tenant-access.ts";
import type { LeaseId } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { growingPauseMs } from "../../../runtime/back-off.ts";
import { type Clock, sleep, withDeadline } from "../../../runtime/clock.ts";
import type { RuntimeDeps } from "../../../runtime/deps.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { kubeCallMs } from "../../../runtime/limits.ts";
import { createFairSemaphore } from "../../../runtime/semaphore.ts";
import type { LeasePods } from "../../capacity/reservations/lease-watches.ts";

/** Commands left behind that are ended at once; each takes the time above and next to nothing else. */
export const shellEndsAtOnce = 16;
/** For so long it is tried to end one, with pauses between: an API server that restarts is back by then. */
const shellEndMs = 10 * minute;
const shellEndPauseMs = second;
const shellEndPauseMostMs = 30 * second;
export const shellCloseMs = 10 * second;

interface LeaseShellDeps extends RuntimeDeps {
  readonly kube: Pick<Kube, "exec">;
  readonly pods: Pick<LeasePods, "in">;
}

type PodAt = ObjectAt & { readonly namespace: string };

interface Left {
  readonly container: string;
  readonly process: string;
}

export function createLeaseShell({ kube, pods, clock, random, log }: LeaseShellDeps) {
  /** Each with when it is known how it ended. */
  const open = new Map<ExecSession, Promise<unknown>>();
  const ending = new Set<Promise<void>>();
  /** By lease: the shell that ends a command is the tenant's, and may take all the time it is given. */
  const inTurn = createFairSemaphore(shellEndsAtOnce);
  const givingUp = new AbortController();

  /** Those that are on their way out have been replaced, and count no more. */
  function podOf(namespace: string, { service, podIndex }: CommandRequest): PodAt {
    const names = [...pods.in(namespace)]
      .filter(({ facts: { service: own, state } }) => own === service && (state === "ready" || state === "unready"))
      .map(({ name }) => name)
      .sort();
    const name = names[podIndex];
    if (names.length === 0) throw new ProviderError("AKP_SHELL_NOT_RUNNING", {});
    if (name === undefined) throw new ProviderError("AKP_SHELL_NO_POD", { last: names.length - 1 });
    return { namespace, name };
  }

  /** Tried again for a while: what cut the connection may well be an API server that is away. */
  async function end(at: PodAt, left: Left): Promise<void> {
    const untilMs = clock.monotonicMs() + shellEndMs;
    for (let failures = 1; ; failures += 1) {
      try {
        await inTurn(at.namespace, () => endHeld(at, left, { kube, clock }, givingUp.signal));
        return;
      } catch (thrown) {
        if (shellError(thrown).code.startsWith("AKP_SHELL_")) return;
        if (givingUp.signal.aborted || clock.monotonicMs() >= untilMs) {
          log.error("command not ended", { ...at, ...left, reason: reasonOf(thrown) });
          return;
        }
      }
      const pauseMs = growingPauseMs(shellEndPauseMs, shellEndPauseMostMs, failures);
      await sleep(clock, pauseMs, givingUp.signal).catch(() => undefined);
    }
  }

  return {
    async exec(lease: LeaseId, request: CommandRequest): Promise<ExecSession> {
      const { service, podIndex: _, signal, ...options } = request;
      const at = podOf(leaseNamespace(lease), request);
      signal.throwIfAborted();
      const mark = Buffer.from(random.bytes(8)).toString("hex");
      // The signal does not end its start: one that has begun must be known, to be ended.
      const { session, process } = await startHeld(at, { ...options, container: service }, mark, { kube, clock }).catch(
        (thrown: unknown) => {
          throw shellError(thrown);
        },
      );
      const leave = () => session.close();
      const over = () => {
        open.delete(session);
        signal.removeEventListener("abort", leave);
      };
      const exit = session.exit.finally(over).catch((thrown: unknown) => {
        // Its end is unknown.
        if (process !== undefined) {
          const task = end(at, { container: service, process }).finally(() => ending.delete(task));
          ending.add(task);
        }
        throw shellError(thrown);
      });
      // Who does not ask for the exit code need not hear that there is none.
      const seen = exit.then(ignore, ignore);
      open.set(session, seen);
      if (signal.aborted) leave();
      else signal.addEventListener("abort", leave, { once: true });
      return { ...session, exit };
    },
    /** Ends all of them. Resolves when nothing is left behind, or that takes too long. */
    async close(): Promise<void> {
      for (const session of open.keys()) session.close();
      await Promise.all(open.values());
      await withDeadline(clock, shellCloseMs, Promise.all(ending).then(ignore), ignore);
      givingUp.abort(new Error("the provider stops"));
      await Promise.all(ending);
    },
  };
}

const ignore = () => undefined;

// A command in a container that we can end. A node leaves a command alone when the connection to it goes, with a terminal and
// without: it would run on for as long as the container. So a shell of the container starts it, and first reports the process
// that it then becomes; another one ends that process. Where there is no shell, the command is started as it is, and it
// cannot be ended.

/** What the shell of a container reports before it becomes the command: its process number. */
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
async function startHeld(at: ObjectAt, options: ExecOptions, mark: string, { kube, clock }: ExecDeps) {
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

async function endHeld(
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
function shellError(thrown: unknown): ProviderError {
  const error = ProviderError.from(thrown);
  if (error.code === "AKP_KUBE_NOT_FOUND") return new ProviderError("AKP_SHELL_NOT_RUNNING", {}, { cause: thrown });
  if (error.code !== "AKP_KUBE_FAILED") return error;
  const reason = String(error.details["reason"]);
  const code = words.find(([said]) => said.test(reason))?.[1];
  return code === undefined ? error : new ProviderError(code, {}, { cause: thrown });
}
