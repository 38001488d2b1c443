import { coin, price, storagePrices } from "../money.ts";
import { choice, duration, path, whole } from "../plain.ts";
import { type Group, optional, setting } from "../setting.ts";

export const pricingGroup = {
  title: "Bids and prices",
  about: "What to ask for an order. Prices are in the order's denom per block.",
  settings: {
    bidPriceStrategy: setting({
      flag: "bid-price-strategy",
      kind: choice(["scale", "randomRange", "shellScript"]),
      default: "scale",
      doc: "`scale` adds up the prices below, `shellScript` asks a script, `randomRange` is for tests.",
    }),
    bidPriceCpuScale: setting({
      flag: "bid-price-cpu-scale",
      key: "bidpricecpuscale",
      kind: price,
      default: "0",
      doc: "Price of a thousandth of a CPU.",
    }),
    bidPriceMemoryScale: setting({
      flag: "bid-price-memory-scale",
      key: "bidpricememoryscale",
      kind: price,
      default: "0",
      doc: "Price of a MiB of memory.",
    }),
    bidPriceStorageScale: setting({
      flag: "bid-price-storage-scale",
      key: "bidpricestoragescale",
      kind: storagePrices,
      default: "0",
      doc: "Price of a MiB of storage, by class; a number alone is for ephemeral storage.",
    }),
    bidPriceEndpointScale: setting({
      flag: "bid-price-endpoint-scale",
      kind: price,
      default: "0",
      doc: "Price of an endpoint.",
    }),
    bidPriceIpScale: setting({
      flag: "bid-price-ip-scale",
      kind: price,
      default: "0",
      doc: "Price of a leased IP address.",
    }),
    bidPriceScriptPath: optional({
      flag: "bid-price-script-path",
      kind: path,
      doc: "The program that `shellScript` asks for a price.",
    }),
    bidPriceScriptProcessLimit: setting({
      flag: "bid-price-script-process-limit",
      // More processes than this exhaust a machine's process table before they price anything.
      kind: whole(1, 10_000),
      default: "32",
      doc: "How many price scripts may run at once.",
    }),
    bidPriceScriptTimeoutMs: setting({
      flag: "bid-price-script-process-timeout",
      kind: duration({ zero: "refused" }),
      default: "10s",
      doc: "How long a price script may run before it is ended.",
    }),
    bidDeposit: setting({
      flag: "bid-deposit",
      kind: coin,
      default: "500000uakt",
      doc: "Deposit that goes with each bid and comes back.",
    }),
    bidTimeoutMs: setting({
      flag: "bid-timeout",
      kind: duration({ zero: "turns it off" }),
      default: "5m",
      doc: "How long a bid waits for its lease before it is withdrawn; 0 turns this off.",
    }),
    reclamationWindowMs: setting({
      flag: "reclamation-window",
      kind: duration(),
      default: "0",
      doc: "Notice that a tenant gets before we reclaim a lease, offered with each bid; 0 offers none.",
    }),
  },
} as const satisfies Group;
