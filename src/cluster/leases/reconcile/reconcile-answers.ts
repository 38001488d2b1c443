/** What commands may ask about drift over the control socket. */
import { z } from "zod";
import { parseQuestion } from "../../../runtime/control/parse-question.ts";
import type { Answer } from "../../../runtime/lifecycle.ts";
import type { Reconciler } from "./reconciler.ts";

const request = z.object({ dryRun: z.boolean().default(false) });

export function reconcileAnswers(opened: Promise<Pick<Reconciler, "reconcile">>): Readonly<Record<string, Answer>> {
  return {
    reconcile: async (question, signal) => (await opened).reconcile(parseQuestion(request, question), signal),
  };
}
