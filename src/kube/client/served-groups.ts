/** Which kinds the server serves, by API group and cached, so that a missing custom resource costs the same for any number of watches. */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { fieldsOf, recordsOf } from "../json-fields.ts";
import { apiVersionOf, type Kind } from "../kinds.ts";
import type { Requests } from "./requests.ts";
import { groupPath } from "./transport.ts";

/** How often a missing kind is looked for. */
export const kubeMissingKindMs = 20 * second;
/** How long a discovery response is cached: shorter than that, so that each check sees a new one, shared by all watches. */
const kubeServedGroupMs = 10 * second;

export type ServedGroups = ReturnType<typeof createServedGroups>;

export function createServedGroups(requests: Requests, clock: Clock) {
  const groups = new Map<string, { readonly plurals: Promise<ReadonlySet<string>>; readonly untilMs: number }>();

  async function read(kind: Kind): Promise<ReadonlySet<string>> {
    const group = apiVersionOf(kind);
    try {
      const { resources } = fieldsOf(await requests.json({ verb: "look up", resource: group, path: groupPath(kind) }));
      return new Set(recordsOf(resources).map(({ name }) => String(name)));
    } catch (thrown) {
      // Nothing of the group is installed.
      if (ProviderError.is(thrown, "AKP_KUBE_KIND_MISSING")) return new Set();
      groups.delete(group);
      throw thrown;
    }
  }

  async function serves(kind: Kind, signal?: AbortSignal): Promise<boolean> {
    const nowMs = clock.monotonicMs();
    let group = groups.get(apiVersionOf(kind));
    if (!group || nowMs >= group.untilMs) {
      group = { plurals: read(kind), untilMs: nowMs + kubeServedGroupMs };
      groups.set(apiVersionOf(kind), group);
    }
    return (await endedBy(group.plurals, signal)).has(kind.plural);
  }

  return {
    serves,
    /** Resolves when the server serves a kind that was just found missing, or when discovery fails, so that the caller tries. */
    async untilServed(kind: Kind, signal: AbortSignal): Promise<void> {
      const group = apiVersionOf(kind);
      try {
        const known = groups.get(group);
        if ((await endedBy(known?.plurals ?? Promise.resolve(undefined), signal))?.has(kind.plural))
          groups.delete(group);
        while (!(await serves(kind, signal))) await sleep(clock, kubeMissingKindMs, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        if (!(thrown instanceof ProviderError)) throw thrown;
      }
    },
  };
}
