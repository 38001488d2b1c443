/** What commands may ask about leases over the control socket, by name. */
import { z } from "zod";
import { type CloseReason, closeReasons } from "../../chain/tx/closing.ts";
import { parseQuestion } from "../../runtime/control/parse-question.ts";
import type { Answer } from "../../runtime/lifecycle.ts";
import type { CloseRequest, Closing } from "./lease-closing.ts";
import type { LeaseLine } from "./lease-lines.ts";

interface AskedLeases {
  leasesInUse(): Promise<readonly LeaseLine[]>;
  closeLease(request: CloseRequest, signal: AbortSignal): Promise<Closing>;
  reclaimLease(request: CloseRequest, signal: AbortSignal): Promise<Closing>;
  refreshLease(id: string, signal: AbortSignal): Promise<void>;
}

const named = z.object({ id: z.string().max(256) });
const close = named.extend({
  reason: z.enum(Object.keys(closeReasons) as [CloseReason, ...CloseReason[]]),
  dryRun: z.boolean().default(false),
});

export function leaseAnswers(opened: Promise<AskedLeases>): Readonly<Record<string, Answer>> {
  return {
    leases: async () => (await opened).leasesInUse(),
    closeLease: async (question, signal) => (await opened).closeLease(parseQuestion(close, question), signal),
    refreshLease: async (question, signal) => (await opened).refreshLease(parseQuestion(named, question).id, signal),
    reclaimLease: async (question, signal) => (await opened).reclaimLease(parseQuestion(close, question), signal),
  };
}
