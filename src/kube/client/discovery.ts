/**
 * Which kinds the server offers. It is asked for a whole group at a time and what it said is remembered for a while, so
 * that a custom resource that is not installed costs the same, however many watches want it.
 */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import { fieldsOf, recordsOf } from "../json-fields.ts";
import { apiVersionOf, type Kind } from "../kinds.ts";
import type { CallOptions } from "../kube.ts";
import { groupPath } from "./paths.ts";
import type { Requests } from "./requests.ts";

export interface Discovery {
  serves(kind: Kind, options?: CallOptions): Promise<boolean>;
  /** It turned out not to be there, whatever the server said before. */
  forget(kind: Kind): void;
  /** Resolves when the server offers it, or when it will not say, so that the caller sees for himself. */
  untilServed(kind: Kind, signal: AbortSignal): Promise<void>;
}

interface Answer {
  readonly plurals: Promise<ReadonlySet<string>>;
  readonly untilMs: number;
}

export function createDiscovery(requests: Requests, clock: Clock): Discovery {
  const answers = new Map<string, Answer>();

  async function ask(kind: Kind, options: CallOptions): Promise<ReadonlySet<string>> {
    const asked = { verb: "discover", resource: apiVersionOf(kind), ...requests.begin(options) };
    try {
      const { resources } = fieldsOf(await requests.json({ ...asked, path: groupPath(kind) }));
      return new Set(recordsOf(resources).map(({ name }) => String(name)));
    } catch (thrown) {
      // Nothing of the group is installed.
      if (ProviderError.is(thrown, "AKP_KUBE_KIND_MISSING")) return new Set();
      answers.delete(apiVersionOf(kind));
      throw thrown;
    }
  }

  async function serves(kind: Kind, options: CallOptions = {}): Promise<boolean> {
    const group = apiVersionOf(kind);
    const known = answers.get(group);
    if (known && clock.monotonicMs() < known.untilMs) return (await known.plurals).has(kind.plural);
    const plurals = ask(kind, options);
    answers.set(group, { plurals, untilMs: clock.monotonicMs() + limits.kubeDiscoveredMs });
    return (await plurals).has(kind.plural);
  }

  return {
    serves,
    forget: (kind) => void answers.delete(apiVersionOf(kind)),
    async untilServed(kind, signal) {
      for (;;) {
        await sleep(clock, limits.kubeMissingKindMs, signal);
        try {
          if (await serves(kind, { signal })) return;
        } catch (thrown) {
          signal.throwIfAborted();
          if (thrown instanceof ProviderError) return;
          throw thrown;
        }
      }
    },
  };
}
