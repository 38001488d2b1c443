/** `akash-provider orders`: the last orders of the market, what was decided and what came of it. */
import type { Command } from "commander";
import type { FollowedOrder, JsonOf, ScreenResponse } from "../bidengine/control-handlers.ts";
import type { RecordedDecision } from "../bidengine/decision/decision.ts";
import { readDecision } from "../bidengine/decision/record.ts";
import { readOrderReports, readOrders } from "../bidengine/order-report.ts";
import { parseAddress } from "../market/address.ts";
import { formatDeploymentId, formatOrderId, parseBidId, parseDeploymentId, parseOrderId } from "../market/ids.ts";
import { formatTime, realClock } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { ordersListed } from "../runtime/limits.ts";
import {
  type ControlClient,
  controlCommand,
  type OutputOptions,
  openControlClient,
  print,
  printError,
  printJson,
  wholeNumber,
} from "./control.ts";
import { changeLines, decisionLines, orderHeading, orderRow, whyLines } from "./order-text.ts";
import { soundSdlText } from "./sdl.ts";
import { abortOnSignals } from "./signals.ts";

interface OrdersOptions extends OutputOptions {
  readonly limit: number;
  readonly follow: boolean;
}

export function ordersCommand(): Command {
  const command = controlCommand("orders", "show the last orders: our verdict, the price and what became of it")
    .option("--limit <number>", "how many, the newest at the end", wholeNumber(ordersListed), 20)
    .option("-f, --follow", "go on with every order of which there is news, until you end it", false)
    .addHelpText("after", "\nAsk about one of them: akash-provider why <order>");
  return command.action(async (options: OrdersOptions, given: Command) => {
    const client = openControlClient(given);
    if (options.follow) return follow(client, options);
    const { limit, json } = options;
    const orders = await client.requestOrRead("orders", { limit }, (read) => readOrders(read, limit));
    if (json) return orders.toReversed().forEach(printJson);
    if (orders.length === 0) return printError("no order has been seen yet");
    print([orderHeading(), ...orders.toReversed().map((order) => orderRow(order, realClock.now()))]);
  });
}

async function follow(client: ControlClient, { limit, json }: OrdersOptions): Promise<void> {
  const signal = abortOnSignals();
  if (!json) print([orderHeading()]);
  for await (const order of client.stream<FollowedOrder>("orders", { limit, follow: true }, signal)) {
    if (json) printJson(order);
    else if (isMissed(order)) printError(`${order.missed} orders are left out: too much happened at once`);
    else print([orderRow(order, realClock.now())]);
  }
  if (!signal.aborted) printError("the provider has stopped");
}

function isMissed(order: JsonOf<FollowedOrder>): order is { readonly missed: number } {
  return "missed" in order;
}

/** `akash-provider why`: all that is known of an order, check by check. */
interface WhyOptions extends OutputOptions {
  readonly evidence: boolean;
}

export function whyCommand(): Command {
  const command = controlCommand("why <order>", "why we bid on an order or did not, and what came of it")
    .option("--evidence", "show what every check saw, not only those that said no", false)
    .addHelpText(
      "after",
      "\n<order> is <owner>/<dseq>, for all orders of a deployment, or <owner>/<dseq>/<gseq>/<oseq>",
    );
  return command.action(async (text: string, options: WhyOptions, given: Command) => {
    const id = orderIn(text);
    const client = openControlClient(given);
    const orders = await client.requestOrRead("why", { id }, (read) => readOrderReports(read, id));
    if (orders.length === 0) {
      const since = client.readJournal((read) => read.orders.firstSeenAtMs() ?? null);
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

/** `akash-provider screen`: whether we would bid on an SDL, for how much, and if not, what is missing. */
interface ScreenOptions extends OutputOptions {
  readonly owner: string;
  readonly evidence: boolean;
}

/** For scripts: 0 is a bid on every group. */
const exitOfNo = 2;

export function screenCommand(): Command {
  const command = controlCommand("screen <sdl>", "would we bid on this SDL now, and at what price? Exit code 2 is a no")
    .option("--owner <address>", "the tenant; matters where policies or prices depend on who asks", "")
    .option("--evidence", "show what every check saw, not only those that said no", false);
  return command.action(async (path: string, options: ScreenOptions, given: Command) => {
    const owner = options.owner === "" ? "" : parseAddress(options.owner);
    const client = openControlClient(given);
    // What is wrong with the file itself is said without a provider, and with its name.
    const sdl = soundSdlText(path);
    const { groups } = await client.request<ScreenResponse>("screen", { sdl, owner });
    if (options.json) groups.forEach(printJson);
    const decisions = groups.map(({ name, decision }) => ({ name, decision: readDecision(decision) }));
    if (!options.json) for (const each of decisions) print(groupLines(each, options));
    if (decisions.some(({ decision }) => decision.verdict === "no")) process.exitCode = exitOfNo;
  });
}

interface ScreenedGroup {
  readonly name: string;
  readonly decision: RecordedDecision;
}

function groupLines({ name, decision }: ScreenedGroup, options: ScreenOptions): string[] {
  const [said, ...checks] = decisionLines(decision, options);
  return [`group ${name}: ${said}`, ...checks, ...changeLines(decision, false)];
}
