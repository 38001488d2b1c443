/** The logs of a lease's pods, merged, also of pods that come later. A pod that cannot start leaves the others alone. */
import type { Kube, LogLine } from "../../../kube/kube.ts";
import type { LogsRequest, PodLine } from "../../../kube/tenant-access.ts";
import type { LeaseId } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { createListeners } from "../../../runtime/listeners.ts";
import { createMerge } from "../../../runtime/merge.ts";
import type { LeasePod, LeasePods } from "../../capacity/reservations/lease-watches.ts";

export function createLeaseLogs(
  kube: Pick<Kube, "logs">,
  pods: Pick<LeasePods, "in" | "cache">,
  news: ReturnType<typeof createPodNews>,
) {
  /** Resolves with true when its container was started once more than it is known to be, with false when it is over. */
  function followContainers({ namespace, name, uid, runs }: LeasePod) {
    let known = runs;
    return async (signal: AbortSignal): Promise<boolean> => {
      while (!signal.aborted) {
        const now = pods.cache?.get({ namespace, name });
        if (now?.uid !== uid) return false;
        if (now.runs !== known) {
          known = now.runs;
          return true;
        }
        if (now.facts.state === "ended") return false;
        await news.next(namespace, signal);
      }
      return false;
    };
  }

  async function* podLines(pod: LeasePod, request: LogsRequest): AsyncGenerator<readonly PodLine[]> {
    const { namespace, name, facts, runs } = pod;
    const { follow, tail, signal } = request;
    const next = followContainers(pod);
    if (follow && runs === 0 && !(await next(signal))) return;
    const options = { container: facts.service, follow, signal, next, ...(tail !== undefined && { tailLines: tail }) };
    try {
      for await (const lines of kube.logs({ namespace, name }, options)) yield linesOf(pod, lines);
    } catch (thrown) {
      // It has not begun, or is gone.
      if (signal.aborted || isAbsent(thrown)) return;
      throw thrown;
    }
  }

  return {
    async *logs(lease: LeaseId, request: LogsRequest): AsyncGenerator<readonly PodLine[]> {
      const namespace = leaseNamespace(lease);
      const { services, follow } = request;
      const left = new AbortController();
      const signal = AbortSignal.any([request.signal, left.signal]);
      const merged = createMerge<readonly PodLine[]>();
      let read: ReadonlySet<string> = new Set();
      const failures: unknown[] = [];

      /** Read to its end, one pod that cannot be read keeps no other from it. */
      async function* toTheEnd(pod: LeasePod): AsyncGenerator<readonly PodLine[]> {
        try {
          yield* podLines(pod, { ...request, signal });
        } catch (thrown) {
          failures.push(thrown);
        }
      }

      function look(tail: number | undefined): void {
        const own = [...pods.in(namespace)].filter(({ facts }) => services?.has(facts.service) ?? true);
        for (const pod of own.filter(({ uid }) => !read.has(uid)).sort(byName)) {
          merged.add(follow ? podLines(pod, { ...request, tail, signal }) : toTheEnd(pod));
        }
        read = new Set(own.map(({ uid }) => uid));
      }

      look(request.tail);
      const stop = follow ? news.on(namespace, () => look(undefined)) : merged.finish;
      signal.addEventListener("abort", merged.finish, { once: true });
      if (!follow || signal.aborted) merged.finish();
      try {
        yield* merged.values();
      } finally {
        stop();
        left.abort();
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}

function linesOf({ name, facts }: LeasePod, lines: readonly LogLine[]): PodLine[] {
  return lines.map(({ text }) => ({ service: facts.service, pod: name, text: withoutReturn(text) }));
}

function withoutReturn(text: string): string {
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}

function isAbsent(thrown: unknown): boolean {
  return ProviderError.is(thrown, "AKP_KUBE_REFUSED") || ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND");
}

function byName(a: LeasePod, b: LeasePod): number {
  return a.name < b.name ? -1 : 1;
}

export function createPodNews(pods: Pick<LeasePods, "onChange">) {
  const { of, on } = createListeners<() => void>();
  pods.onChange(({ value }) => {
    for (const listener of of(value.namespace)) listener();
  });

  return {
    /** Called with every change in a namespace; the answer ends it. */
    on,
    /** Resolves with the next one, or with the signal. */
    async next(namespace: string, signal: AbortSignal): Promise<void> {
      if (signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const stop = on(namespace, resolve);
      const onAbort = () => resolve();
      signal.addEventListener("abort", onAbort, { once: true });
      await promise;
      signal.removeEventListener("abort", onAbort);
      stop();
    },
  };
}
