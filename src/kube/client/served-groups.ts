/** Which kinds the server offers, asked by group and cached, so that a missing custom resource costs the same for any number of watches. */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { fieldsOf, recordsOf } from "../json-fields.ts";
import { apiVersionOf, type Kind } from "../kinds.ts";
import type { Requests } from "./requests.ts";
import { groupPath } from "./transport.ts";

/** A kind that the server does not offer is looked for this often; until then whatever needs it waits, and says so. */
export const kubeMissingKindMs = 20 * second;
/** How long the server's word on a group is remembered: shorter than that, so that each look asks, yet once for all. */
const kubeServedGroupMs = 10 * second;

export interface ServedGroups {
  serves(kind: Kind, signal?: AbortSignal): Promise<boolean>;
  /** It turned out not to be there, whatever the server said before. */
  forget(kind: Kind): void;
  /** Resolves when the server offers it, or when it will not say, so that the caller sees for himself. */
  untilServed(kind: Kind, signal: AbortSignal): Promise<void>;
}

type Plurals = ReadonlySet<string>;

interface Answer {
  readonly plurals: Promise<Plurals>;
  readonly untilMs: number;
  /** Once it is there. */
  told?: Plurals;
}

export function createServedGroups(requests: Requests, clock: Clock): ServedGroups {
  const answers = new Map<string, Answer>();

  async function ask(kind: Kind): Promise<Plurals> {
    try {
      const asked = { verb: "look up", resource: apiVersionOf(kind), path: groupPath(kind) };
      const { resources } = fieldsOf(await requests.json(asked));
      return new Set(recordsOf(resources).map(({ name }) => String(name)));
    } catch (thrown) {
      // Nothing of the group is installed.
      if (ProviderError.is(thrown, "AKP_KUBE_KIND_MISSING")) return new Set();
      answers.delete(apiVersionOf(kind));
      throw thrown;
    }
  }

  /** One request for all who ask meanwhile: it ends with none of them. */
  function answerOf(kind: Kind): Answer {
    const group = apiVersionOf(kind);
    const known = answers.get(group);
    if (known && clock.monotonicMs() < known.untilMs) return known;
    const answer: Answer = { plurals: ask(kind), untilMs: clock.monotonicMs() + kubeServedGroupMs };
    answers.set(group, answer);
    return answer;
  }

  async function serves(kind: Kind, signal?: AbortSignal): Promise<boolean> {
    const answer = answerOf(kind);
    answer.told = await endedBy(answer.plurals, signal);
    return answer.told.has(kind.plural);
  }

  return {
    serves,
    forget(kind) {
      const group = apiVersionOf(kind);
      if (answers.get(group)?.told?.has(kind.plural)) answers.delete(group);
    },
    async untilServed(kind, signal) {
      try {
        while (!(await serves(kind, signal))) await sleep(clock, kubeMissingKindMs, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        if (!(thrown instanceof ProviderError)) throw thrown;
      }
    },
  };
}
