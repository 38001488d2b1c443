/** Gathers the conditions of all services every few seconds, keeps since when each holds, and notifies of the current state. */
import type { Journal } from "../journal/journal.ts";
import { sleep } from "../runtime/clock.ts";
import { countByType } from "../runtime/condition.ts";
import { defineController } from "../runtime/controller.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { second } from "../runtime/durations.ts";
import { ProviderError, reasonOf } from "../runtime/errors.ts";
import type { Service } from "../runtime/lifecycle.ts";
import { done, type Outcome } from "../runtime/outcome.ts";
import type { Process } from "../runtime/process.ts";
import {
  createHeldConditions,
  type HeldCondition,
  type HeldConditions,
  partsOf,
  post,
  type Receiver,
} from "./held-conditions.ts";

/** How often services are asked what is wrong: an operator is told within seconds, and each answers from what it holds. */
export const conditionsLookMs = 5 * second;

interface ConditionsDeps extends RuntimeDeps {
  readonly gather: Process["conditions"];
  /** Whose conditions they are. */
  readonly provider: string;
  readonly receiver: Receiver | undefined;
  readonly journal: Promise<Pick<Journal, "read" | "relaxed">>;
}

export function createConditionsService(deps: ConditionsDeps): Service<readonly HeldCondition[]> {
  const { gather, provider, receiver, clock, random } = deps;
  const log = deps.log.with({ module: "conditions" });
  let held: HeldConditions | undefined;
  let journal: Pick<Journal, "read" | "relaxed"> | undefined;
  let lastError: string | undefined;
  const notifications = defineController({
    ...{ name: "notifications", reconcile: settle, clock, random, log },
    concurrency: 1,
  });

  /** One at a time: a receiver that hangs has one connection of ours, and the order of what it is told is that of the world. */
  async function settle(key: string, signal: AbortSignal): Promise<Outcome> {
    const entry = held?.get(key);
    if (!receiver || !held || !entry || entry.state === "new") return done();
    const isHeld = entry.state === "held";
    if (entry.told !== isHeld) {
      try {
        const condition: HeldCondition = { ...entry.is, ...(!isHeld && { status: "False" }) };
        await post(receiver, { type: isHeld ? "raised" : "cleared", condition, provider }, { clock, signal });
      } catch (thrown) {
        signal.throwIfAborted();
        lastError = reasonOf(thrown);
        throw new ProviderError("AKP_NOTIFICATION_FAILED", { condition: entry.is.type, reason: lastError });
      }
      lastError = undefined;
      // It may have changed meanwhile, and then its key was added again.
      held.noteTold(key, isHeld);
    }
    if (!isHeld && held.get(key)?.state === "over") held.forget(key);
    await keep([key]);
    return done();
  }

  /** Relaxed: a power cut may have somebody told twice. */
  async function keep(keys: readonly string[]): Promise<void> {
    const entries = keys.map((key) => [key, held?.get(key)] as const);
    await journal?.relaxed("conditions", ({ conditions }) => {
      for (const [key, entry] of entries) {
        if (entry) conditions.put({ subject: "", ...entry.is, notified: entry.told });
        else conditions.remove(...partsOf(key));
      }
    });
  }

  async function look(): Promise<void> {
    if (!held) return;
    const { changed, again } = held.look(gather(), clock.now(), clock.monotonicMs());
    // Of what was kept nobody may have been told; nor is anybody before it is known to hold in this life.
    if (receiver) for (const key of again) notifications.add(key);
    for (const key of changed) {
      const { is, state } = held.get(key) ?? {};
      const { type, subject, reason, message } = is ?? {};
      const fields = { condition: type, ...(subject && { subject }), reason, message };
      if (state === "held") log.warn("condition raised", fields);
      else log.info("condition cleared", fields);
      if (receiver) notifications.add(key);
      else if (state === "over") held.forget(key);
    }
    if (changed.length > 0) await keep(changed);
  }

  return {
    name: "conditions",
    queues: [notifications.queue],
    async start(scope) {
      const opened = await deps.journal;
      journal = opened;
      held = createHeldConditions(opened.read.conditions.all(), clock.monotonicMs());
      notifications.start(scope);
      scope.task("conditions", async (signal) => {
        for (;;) {
          await sleep(clock, conditionsLookMs, signal);
          await look();
        }
      });
    },
    detail() {
      const count = held?.held().length ?? 0;
      const told = lastError === undefined ? "" : `; notifications fail: ${lastError}`;
      return `${count} condition(s)${told}`;
    },
    status: () => held?.held(),
    controlHandlers: { conditions: () => held?.held() ?? [] },
    measure(metrics) {
      const help = "Conditions that hold now, by type; akash-provider conditions has the words";
      metrics.readEach("gauge", "akash_provider", [
        ["conditions", help, () => countByType(held?.held() ?? []), ["type"]],
      ]);
    },
  };
}
