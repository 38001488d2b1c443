/** Runs a command in one of the containers of a lease, for its tenant. */
import type { ExecOptions, ExecSession, Kube } from "../../kube/kube.ts";
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { LeasePod, LeasePods } from "../reservations/lease-pods.ts";

interface LeaseShellDeps {
  readonly kube: Pick<Kube, "exec">;
  readonly pods: Pick<LeasePods, "in">;
}

interface CommandAsked extends Pick<ExecOptions, "command" | "tty" | "stdin"> {
  readonly service: string;
  /** Which of its pods, in the order of their names. */
  readonly podIndex: number;
  readonly signal: AbortSignal;
}

export function createLeaseShell({ kube, pods }: LeaseShellDeps) {
  /** Those that are on their way out have been replaced, and count no more. */
  function podsOf(namespace: string, service: string): LeasePod[] {
    const own = [...pods.in(namespace)].filter(({ facts }) => facts.service === service);
    return own
      .filter(({ facts: { state } }) => state === "ready" || state === "unready")
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  return {
    async exec(lease: LeaseId, { service, podIndex, ...options }: CommandAsked): Promise<ExecSession> {
      const namespace = leaseNamespace(lease);
      const all = podsOf(namespace, service);
      if (all.length === 0) throw new ProviderError("AKP_SHELL_NOT_RUNNING", {});
      const pod = all[podIndex];
      if (!pod) throw new ProviderError("AKP_SHELL_NO_POD", { last: all.length - 1 });
      try {
        const session = await kube.exec({ namespace, name: pod.name }, { ...options, container: service });
        return { ...session, exit: session.exit.catch(rethrow) };
      } catch (thrown) {
        return rethrow(thrown);
      }
    },
  };
}

function rethrow(thrown: unknown): never {
  throw shellError(thrown) ?? thrown;
}

/** What the node says of a command that it could not start; it has no other words for it than these. */
function shellError(thrown: unknown): ProviderError | undefined {
  if (ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND")) return new ProviderError("AKP_SHELL_NOT_RUNNING", {});
  if (!ProviderError.is(thrown, "AKP_KUBE_FAILED")) return undefined;
  const reason = String(thrown.details["reason"]);
  const code = startFailures.find(([words]) => words.test(reason))?.[1];
  return code && new ProviderError(code, {}, { cause: thrown });
}

const startFailures = [
  [/container not found|is not running|not created|in pod .* is waiting to start/, "AKP_SHELL_NOT_RUNNING"],
  [/executable file not found|no such file or directory/, "AKP_SHELL_NO_SUCH_COMMAND"],
  [/unable to start container process|OCI runtime exec failed|failed to exec in container/, "AKP_SHELL_NOT_STARTED"],
] as const;
