import { url } from "../formats/addresses.ts";
import { coin, gpuPrices, perDenom, price, storagePrices } from "../formats/money.ts";
import { choice, duration, freeText, onOff, path, whole } from "../formats/plain.ts";
import { group, optionalRow, setting } from "../setting.ts";

export const pricingGroup = group({
  title: "Bids and prices",
  about:
    "What to ask for an order, per block and in the order's denom. What stands in provider.yaml is read again when it changes.",
  settings: {
    bidPriceStrategy: setting("bid-price-strategy", choice(["scale", "table", "shellScript", "randomRange"]), {
      key: "bidpricestrategy",
      default: "scale",
      doc: "`scale` adds up the bid-price-…-scale prices, `table` the price-target-… dollars, `shellScript` asks a script, `randomRange` is for tests.",
    }),
    bidPriceCpuScale: setting("bid-price-cpu-scale", perDenom(price), {
      key: "bidpricecpuscale",
      default: "0",
      doc: "Price of a thousandth of a CPU.",
    }),
    bidPriceMemoryScale: setting("bid-price-memory-scale", perDenom(price), {
      key: "bidpricememoryscale",
      default: "0",
      doc: "Price of a MiB of memory.",
    }),
    bidPriceStorageScale: setting("bid-price-storage-scale", perDenom(storagePrices), {
      key: "bidpricestoragescale",
      default: "0",
      doc: "Price of a MiB of storage, by class; a number alone is for ephemeral storage, and RAM without a price costs what memory does.",
    }),
    bidPriceGpuScale: setting("bid-price-gpu-scale", perDenom(gpuPrices), {
      key: "bidpricegpuscale",
      default: "",
      doc: "Price of a GPU, by model, perhaps with memory and interface; `*` is for the others, and without a price there is no bid.",
    }),
    bidPriceEndpointScale: setting("bid-price-endpoint-scale", perDenom(price), {
      key: "bidpriceendpointscale",
      default: "0",
      doc: "Price of an endpoint.",
    }),
    bidPriceIpScale: setting("bid-price-ip-scale", perDenom(price), {
      key: "bidpriceipscale",
      default: "0",
      doc: "Price of a leased IP address.",
    }),
    bidPriceScriptPath: optionalRow("bid-price-script-path", path, {
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
    priceTargetCpu: target("CPU", "1.60", "a CPU"),
    priceTargetMemory: target("MEMORY", "0.80", "a GiB of memory"),
    priceTargetEphemeral: target("HD_EPHEMERAL", "0.02", "a GiB of ephemeral storage"),
    priceTargetHdd: target("HD_PERS_HDD", "0.01", "a GiB of storage of the class beta1"),
    priceTargetSsd: target("HD_PERS_SSD", "0.03", "a GiB of storage of the class beta2"),
    priceTargetNvme: target("HD_PERS_NVME", "0.04", "a GiB of storage of the class beta3"),
    priceTargetEndpoint: target("ENDPOINT", "0.05", "an endpoint"),
    priceTargetIp: target("IP", "5", "a leased IP address"),
    priceTargetGpuMappings: setting("price-target-gpu-mappings", gpuPrices, {
      key: "price_target_gpu_mappings",
      alsoVariable: "PRICE_TARGET_GPU_MAPPINGS",
      default: "",
      doc: "Dollars a month for a GPU, by model, perhaps with memory and interface; another one costs as much as the dearest, at least 100.",
    }),
    tokenPriceFile: optionalRow("token-price-file", path, {
      doc: "A file with the dollars that one AKT is worth; `table` needs this, a URL or the oracle for orders in uakt.",
    }),
    tokenPriceUrl: optionalRow("token-price-url", url(["https", "http"], "https://prices.example.com/akt.json"), {
      doc: "Where the dollars that one AKT is worth are fetched from.",
    }),
    tokenPriceOracle: setting("token-price-oracle", onOff, {
      default: "false",
      doc: "Whether the chain's own oracle says it, where the chain has one.",
    }),
    tokenPriceField: optionalRow(
      "token-price-field",
      freeText("names with dots between them, like akash-network.usd"),
      {
        doc: "Where in the JSON of that file or URL the number stands; without it, it is the number alone.",
      },
    ),
    tokenPriceTimeField: optionalRow(
      "token-price-time-field",
      freeText("names with dots between them, like last.time"),
      {
        doc: "Where in that JSON it says of what time the number is; without it, a file's last change or the time of the answer counts.",
      },
    ),
    tokenPriceMaxAgeMs: setting("token-price-max-age", duration({ zero: "refused" }), {
      default: "1h",
      doc: "How old that number may be; with an older one there is no bid on orders in uakt.",
    }),
    // Public price servers allow a few requests a minute.
    tokenPricePeriodMs: setting("token-price-period", duration({ least: "10s" }), {
      default: "5m",
      doc: "How often the URL or the oracle is asked.",
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

/** By the names that the network's standard price script and its chart have for it. */
function target(name: string, dollars: string, thing: string) {
  return setting(`price-target-${name.toLowerCase().replaceAll("_", "-")}`, price, {
    key: `price_target_${name.toLowerCase()}`,
    alsoVariable: `PRICE_TARGET_${name}`,
    default: dollars,
    doc: `Dollars a month for ${thing}.`,
  });
}

export const policiesGroup = group({
  title: "Policies",
  about: "What the operator has decided about bids. docs/operations.md says what a policy file holds.",
  settings: {
    policyFile: optionalRow("policy-file", path, {
      usedBy: ["run", "ask"],
      doc: "A YAML file with tenants, caps and maintenance; it is read again when it changes.",
    }),
  },
});
