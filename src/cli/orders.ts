/** `akash-provider orders`: the last orders of the market, what was decided and what came of it. */
import type { Command } from "commander";
import { readOrders } from "../bidengine/answers.ts";
import type { FollowedOrder, Told } from "../bidengine/questions.ts";
import { realClock } from "../runtime/clock.ts";
import { ordersListed } from "../runtime/limits.ts";
import {
  type Asker,
  askingCommand,
  complain,
  type OutputOptions,
  openAsker,
  print,
  printJson,
  wholeNumber,
} from "./asking.ts";
import { orderHeading, orderRow } from "./order-text.ts";
import { abortOnSignals } from "./signals.ts";

interface OrdersOptions extends OutputOptions {
  readonly limit: number;
  readonly follow: boolean;
}

export function ordersCommand(): Command {
  const command = askingCommand("orders", "show the last orders: our verdict, the price and what became of it")
    .option("--limit <number>", "how many, the newest at the end", wholeNumber(ordersListed), 20)
    .option("-f, --follow", "go on with every order of which there is news, until you end it", false)
    .addHelpText("after", "\nAsk about one of them: akash-provider why <order>");
  return command.action(async (options: OrdersOptions, given: Command) => {
    const asker = openAsker(given);
    if (options.follow) return follow(asker, options);
    const { limit, json } = options;
    const orders = await asker.askOrRead("orders", { limit }, (read) => readOrders(read, limit));
    if (json) return orders.toReversed().forEach(printJson);
    if (orders.length === 0) return complain("no order has been seen yet");
    print([orderHeading(), ...orders.toReversed().map((order) => orderRow(order, realClock.now()))]);
  });
}

async function follow(asker: Asker, { limit, json }: OrdersOptions): Promise<void> {
  const signal = abortOnSignals();
  if (!json) print([orderHeading()]);
  for await (const order of asker.askOn<FollowedOrder>("orders", { limit, follow: true }, signal)) {
    if (json) printJson(order);
    else if (isMissed(order)) complain(`${order.missed} orders are left out: too much happened at once`);
    else print([orderRow(order, realClock.now())]);
  }
  if (!signal.aborted) complain("the provider has stopped");
}

function isMissed(order: Told<FollowedOrder>): order is { readonly missed: number } {
  return "missed" in order;
}
