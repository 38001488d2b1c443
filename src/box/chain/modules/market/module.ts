/** The module as the application sees it. */
import type { Module } from "../../module.ts";
import type { Leasing } from "./leasing.ts";
import { marketMessages } from "./messages.ts";
import type { MarketParams } from "./params.ts";
import { marketQueries } from "./queries.ts";

export function marketModule(leasing: Leasing, params: MarketParams): Module {
  return { name: "market", messages: marketMessages(leasing, params), queries: marketQueries(params) };
}
