import { coin, price, storagePrices } from "../formats/money.ts";
import { choice, duration, path, whole } from "../formats/plain.ts";
import { group, optional, setting } from "../setting.ts";

export const pricingGroup = group({
  title: "Bids and prices",
  about: "What to ask for an order. Prices are in the order's denom per block.",
  settings: {
    bidPriceStrategy: setting("bid-price-strategy", choice(["scale", "randomRange", "shellScript"]), {
      default: "scale",
      doc: "`scale` adds up the prices below, `shellScript` asks a script, `randomRange` is for tests.",
    }),
    bidPriceCpuScale: setting("bid-price-cpu-scale", price, {
      key: "bidpricecpuscale",
      default: "0",
      doc: "Price of a thousandth of a CPU.",
    }),
    bidPriceMemoryScale: setting("bid-price-memory-scale", price, {
      key: "bidpricememoryscale",
      default: "0",
      doc: "Price of a MiB of memory.",
    }),
    bidPriceStorageScale: setting("bid-price-storage-scale", storagePrices, {
      key: "bidpricestoragescale",
      default: "0",
      doc: "Price of a MiB of storage, by class; a number alone is for ephemeral storage.",
    }),
    bidPriceEndpointScale: setting("bid-price-endpoint-scale", price, { default: "0", doc: "Price of an endpoint." }),
    bidPriceIpScale: setting("bid-price-ip-scale", price, { default: "0", doc: "Price of a leased IP address." }),
    bidPriceScriptPath: optional("bid-price-script-path", path, {
      doc: "The program that `shellScript` asks for a price.",
    }),
    // More processes than this exhaust a machine's process table before they price anything.
    bidPriceScriptProcessLimit: setting("bid-price-script-process-limit", whole(1, 10_000), {
      default: "32",
      doc: "How many price scripts may run at once.",
    }),
    bidPriceScriptTimeoutMs: setting("bid-price-script-process-timeout", duration({ zero: "refused" }), {
      default: "10s",
      doc: "How long a price script may run before it is ended.",
    }),
    bidDeposit: setting("bid-deposit", coin, {
      default: "500000uakt",
      doc: "Deposit that goes with each bid and comes back.",
    }),
    bidTimeoutMs: setting("bid-timeout", duration({ zero: "turns it off" }), {
      default: "5m",
      doc: "How long a bid waits for its lease before it is withdrawn; 0 turns this off.",
    }),
    reclamationWindowMs: setting("reclamation-window", duration(), {
      default: "0",
      doc: "Notice that a tenant gets before we reclaim a lease, offered with each bid; 0 offers none.",
    }),
  },
});
