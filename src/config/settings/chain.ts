import { account, rpcUrls } from "../addresses.ts";
import { coins, gas, gasAdjustment, gasPrices } from "../money.ts";
import { choice, duration, path, text } from "../plain.ts";
import { dead, fixed, type Group, optional, setting } from "../setting.ts";

export const chainGroup = {
  title: "Chain and transactions",
  about: "Which chain, which key, and what a transaction may cost.",
  settings: {
    nodes: setting({
      flag: "node",
      kind: rpcUrls,
      default: "http://localhost:26657",
      doc: "RPC addresses of nodes of the chain; with several, one takes over when another fails.",
    }),
    chainId: optional({
      flag: "chain-id",
      kind: text("a chain id like akashnet-2", /^[a-zA-Z0-9][\w.-]*$/, "<id>"),
      doc: "The chain to work on; a node of another chain is refused.",
    }),
    from: optional({
      flag: "from",
      kind: text("the name of a key, or its address"),
      doc: "The provider's key, by its name in the keyring or by its address.",
    }),
    keyringBackend: setting({
      flag: "keyring-backend",
      kind: choice(["os", "file", "kwallet", "pass", "test", "memory"]),
      default: "os",
      doc: "Which kind of keyring holds the key.",
    }),
    keyringDir: optional({
      flag: "keyring-dir",
      kind: path,
      doc: "Folder of the keyring, if it is not in --home.",
    }),
    gas: setting({
      flag: "gas",
      kind: gas,
      default: "auto",
      doc: "Gas limit of a transaction; `auto` asks the node and multiplies by --gas-adjustment.",
    }),
    gasAdjustment: setting({
      flag: "gas-adjustment",
      kind: gasAdjustment,
      default: "1.5",
      doc: "Factor on the gas that the node estimated.",
    }),
    gasPrices: setting({
      flag: "gas-prices",
      kind: gasPrices,
      default: "0.025uakt",
      doc: "Price of a unit of gas; the fee is gas times price.",
    }),
    fees: optional({
      flag: "fees",
      kind: coins,
      doc: "A fixed fee for every transaction instead of --gas-prices.",
    }),
    feeGranter: optional({
      flag: "fee-granter",
      kind: account,
      doc: "The account that grants us its money for fees.",
    }),
    feePayer: optional({
      flag: "fee-payer",
      kind: account,
      doc: "The account that pays the fees instead of ours.",
    }),
    note: optional({
      flag: "note",
      kind: text("a short text"),
      doc: "A note that is written into every transaction.",
    }),
    broadcastMode: setting({
      flag: "broadcast-mode",
      short: "b",
      kind: choice(["sync", "async", "block"]),
      default: "sync",
      doc: "How a node is handed a transaction; whichever way, the provider itself looks for it in the blocks.",
    }),
    rpcQueryTimeoutMs: setting({
      flag: "rpc-query-timeout",
      kind: duration({ zero: "refused" }),
      default: "1m",
      doc: "How long a query to a node may take.",
    }),
    cachedResultMaxAgeMs: setting({
      flag: "cached-result-max-age",
      kind: duration(),
      default: "5s",
      doc: "How old an answer of the chain may be when a manifest is checked against it.",
    }),
    leaseFundsMonitorIntervalMs: setting({
      flag: "lease-funds-monitor-interval",
      kind: duration({ least: "1m", most: "24h" }),
      default: "10m",
      doc: "How often the escrow of each lease is looked at.",
    }),
    withdrawalPeriodMs: setting({
      flag: "withdrawal-period",
      kind: duration(),
      default: "24h",
      doc: "How often earnings are withdrawn from escrow at the latest; 0 turns this off.",
    }),
    signMode: fixed({ flag: "sign-mode", only: "direct", why: "transactions are signed in direct mode" }),
    ledger: fixed({ flag: "ledger", only: "false", why: "a provider signs while nobody is there to press a button" }),
    dryRun: fixed({ flag: "dry-run", only: "false", why: "a provider that sends nothing wins no lease" }),
    generateOnly: fixed({
      flag: "generate-only",
      only: "false",
      why: "a provider signs and sends its own transactions",
    }),
    offline: fixed({ flag: "offline", only: "false", why: "a provider cannot work without the chain" }),
    aux: fixed({ flag: "aux", only: "false", why: "a provider signs and sends its own transactions" }),
    yes: dead({ flag: "yes", short: "y", harmless: "true", why: "nothing is ever asked" }),
    output: dead({ flag: "output", short: "o", harmless: "json", why: "a running provider prints no transactions" }),
    accountNumber: dead({ flag: "account-number", short: "a", why: "the chain is asked for it" }),
    sequence: dead({ flag: "sequence", short: "s", why: "the chain is asked for it" }),
    unordered: dead({ flag: "unordered", why: "transactions are unordered wherever the chain allows it" }),
    timeoutDuration: dead({ flag: "timeout-duration", why: "every transaction gets a time-out stamp of its own" }),
    timeoutHeight: dead({ flag: "timeout-height", why: "every transaction gets a time-out stamp of its own" }),
    tip: dead({ flag: "tip", why: "the chain takes no tips" }),
    txBroadcastTimeout: dead({
      flag: "tx-broadcast-timeout",
      why: "a transaction is looked for until its own time-out stamp has passed",
    }),
    minimumBalance: dead({ flag: "minimum-balance", why: "no part of the provider has ever read it" }),
  },
} as const satisfies Group;
