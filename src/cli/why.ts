/** `akash-provider why`: all that is known of an order, check by check. */
import type { Command } from "commander";
import { readWhy } from "../bidengine/answers.ts";
import { formatDeploymentId, formatOrderId, parseBidId, parseDeploymentId, parseOrderId } from "../market/ids.ts";
import { formatTime } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { askingCommand, type OutputOptions, openAsker, print, printJson } from "./asking.ts";
import { whyLines } from "./order-text.ts";

interface WhyOptions extends OutputOptions {
  readonly evidence: boolean;
}

export function whyCommand(): Command {
  const command = askingCommand("why <order>", "why we bid on an order or did not, and what came of it")
    .option("--evidence", "show what every check saw, not only those that said no", false)
    .addHelpText(
      "after",
      "\n<order> is <owner>/<dseq>, for all orders of a deployment, or <owner>/<dseq>/<gseq>/<oseq>",
    );
  return command.action(async (text: string, options: WhyOptions, given: Command) => {
    const id = orderIn(text);
    const asker = openAsker(given);
    const orders = await asker.askOrRead("why", { id }, (read) => readWhy(read, id));
    if (orders.length === 0) {
      const since = asker.readJournal((read) => read.orders.firstSeenAtMs() ?? null);
      throw new ProviderError("AKP_ORDER_UNKNOWN", { id, since: rememberedSince(since) });
    }
    if (options.json) return orders.forEach(printJson);
    for (const order of orders) print([...whyLines(order, options), ""]);
  });
}

/** As people have it at hand: of a deployment, an order, or a bid or lease on it. */
function orderIn(text: string): string {
  const parts = text.split("/").length;
  if (parts <= 2) return formatDeploymentId(parseDeploymentId(text));
  return formatOrderId(parts > 4 ? parseBidId(text) : parseOrderId(text));
}

function rememberedSince(sinceMs: number | null): string {
  return sinceMs === null
    ? "no order has been seen at all"
    : `the oldest order that is remembered was seen ${formatTime(sinceMs)}`;
}
