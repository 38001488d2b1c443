/** Runs commands in the containers of a lease, for its tenant. None of them outlives its connection. */
import type { ExecSession, Kube, ObjectAt } from "../../../kube/kube.ts";
import type { CommandRequest } from "../../../kube/tenant-access.ts";
import type { LeaseId } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { growingPauseMs } from "../../../runtime/back-off.ts";
import { sleep, withDeadline } from "../../../runtime/clock.ts";
import type { RuntimeDeps } from "../../../runtime/deps.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { createFairSemaphore } from "../../../runtime/semaphore.ts";
import type { LeasePods } from "../../capacity/reservations/lease-watches.ts";
import { endHeld, shellError, startHeld } from "./held-command.ts";

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
    async exec(lease: LeaseId, asked: CommandRequest): Promise<ExecSession> {
      const { service, podIndex: _, signal, ...options } = asked;
      const at = podOf(leaseNamespace(lease), asked);
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
