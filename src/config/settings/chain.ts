import { journalLedgerKeepMs } from "../../runtime/limits.ts";
import { account, rpcUrls } from "../formats/addresses.ts";
import { balances, coins, gas, gasAdjustment, gasPrices } from "../formats/money.ts";
import { choice, derivationIndex, duration, formatDuration, freeText, path, paths, secret } from "../formats/plain.ts";
import { chainPrograms, dead, fixed, group, optionalRow, setting } from "../setting.ts";

export const chainGroup = group({
  title: "Chain and transactions",
  about: "Which chain, which key, and what a transaction may cost.",
  usedBy: chainPrograms,
  settings: {
    nodes: setting("node", rpcUrls, {
      default: "http://localhost:26657",
      doc: "RPC addresses of nodes of the chain; with several, one takes over when another fails.",
    }),
    chainId: optionalRow("chain-id", freeText("a chain id like akashnet-2", /^[a-zA-Z0-9][\w.-]*$/, "<id>"), {
      doc: "The chain to work on; a node of another chain is refused.",
    }),
    from: optionalRow("from", freeText("the name of a key, or its address"), {
      doc: "The provider's key, by its name in the keyring or by its address.",
    }),
    keyringBackend: setting("keyring-backend", choice(["os", "file", "kwallet", "pass", "test", "memory"]), {
      default: "os",
      doc: "Which kind of keyring holds the key.",
    }),
    keyringDir: optionalRow("keyring-dir", path, { doc: "Folder of the keyring, if it is not in --home." }),
    keyFile: optionalRow("key-file", path, {
      doc: "A file with the key instead of a keyring: a mnemonic, a private key in hex, or an armored export.",
    }),
    keyPassphrase: optionalRow("key-passphrase", secret, {
      doc: "The pass-phrase of the keyring or of the armored export.",
    }),
    keyCoinType: setting("key-coin-type", derivationIndex, {
      default: "118",
      doc: "Coin type in the path from a mnemonic to the key.",
    }),
    keyAccount: setting("key-account", derivationIndex, {
      default: "0",
      doc: "Account in the path from a mnemonic to the key.",
    }),
    keyIndex: setting("key-index", derivationIndex, {
      default: "0",
      doc: "Address index in the path from a mnemonic to the key.",
    }),
    nodeCertFiles: optionalRow("node-cert", paths, {
      doc: "Client certificates for the nodes, as PEM files in the order of --node; one alone is for all of them.",
    }),
    nodeKeyFiles: optionalRow("node-key", paths, { doc: "The keys of those certificates, in the same order." }),
    nodeCaFiles: optionalRow("node-ca", paths, {
      doc: "Bundles of the authorities that the nodes' own certificates must come from, in the same order; without one, those of the system.",
    }),
    gas: setting("gas", gas, {
      default: "auto",
      doc: "Gas limit of a transaction; `auto` asks the node and multiplies by --gas-adjustment.",
    }),
    gasAdjustment: setting("gas-adjustment", gasAdjustment, {
      default: "1.5",
      doc: "Factor on the gas that the node estimated.",
    }),
    gasPrices: setting("gas-prices", gasPrices, {
      default: "0.025uakt",
      doc: "Price of a unit of gas; the fee is gas times price.",
    }),
    fees: optionalRow("fees", coins, { doc: "A fixed fee for every transaction instead of --gas-prices." }),
    feeGranter: optionalRow("fee-granter", account, { doc: "The account that grants us its money for fees." }),
    note: optionalRow("note", freeText("a short text"), { doc: "A note that is written into every transaction." }),
  },
  inert: [
    dead("broadcast-mode", "whichever way a node is handed a transaction, the provider looks for it in the blocks", {
      short: "b",
      harmless: "sync",
    }),
    dead("rpc-query-timeout", "how long a query may take follows from what is asked, and another node is asked then", {
      usedBy: chainPrograms,
    }),
    dead("cached-result-max-age", "manifests are checked against the mirror of the chain, which follows every block"),
    fixed(
      "fee-payer",
      "",
      "that account would have to sign every transaction too; let it grant its money with --fee-granter instead",
    ),
    fixed("sign-mode", "direct", "transactions are signed in direct mode"),
    fixed("ledger", "false", "a provider signs while nobody is there to press a button"),
    fixed("dry-run", "false", "a provider that sends nothing wins no lease"),
    fixed("generate-only", "false", "a provider signs and sends its own transactions"),
    fixed("offline", "false", "a provider cannot work without the chain"),
    fixed("aux", "false", "a provider signs and sends its own transactions"),
    dead("yes", "nothing is ever asked", { short: "y", harmless: "true" }),
    dead("output", "a running provider prints no transactions", { short: "o", harmless: "json" }),
    dead("account-number", "the chain is asked for it", { short: "a" }),
    dead("sequence", "the chain is asked for it", { short: "s" }),
    dead("unordered", "transactions are unordered wherever the chain allows it"),
    dead("timeout-duration", "every transaction gets a time-out stamp of its own"),
    dead("timeout-height", "every transaction gets a time-out stamp of its own"),
    dead("tip", "the chain takes no tips"),
    dead("tx-broadcast-timeout", "a transaction is looked for until its own time-out stamp has passed"),
  ],
});

export const moneyGroup = group({
  title: "Money",
  about: "What the wallet keeps, when earnings are brought home, and how long the books are kept.",
  usedBy: ["run"],
  settings: {
    minimumBalance: setting("minimum-balance", balances, {
      default: "1000000",
      doc: "What the wallet keeps: a bid that would take it below this is not made. A number alone is in uakt.",
    }),
    warnBalance: setting("warn-balance", balances, {
      default: "5000000",
      doc: "Below this the wallet is reported as low. A number alone is in uakt.",
    }),
    leaseFundsMonitorIntervalMs: setting("lease-funds-monitor-interval", duration({ least: "1m", most: "24h" }), {
      default: "10m",
      doc: "How often the escrow of each lease is looked at, at the latest.",
    }),
    withdrawalPeriodMs: setting("withdrawal-period", duration(), {
      default: "24h",
      doc: "How often earnings are withdrawn from escrow where that is worth its fee; with 0, only when they are worth many times the fee or reach --withdrawal-threshold.",
    }),
    withdrawalThreshold: setting("withdrawal-threshold", coins, {
      default: "100000uact,100000uakt",
      doc: "What a withdrawal must bring where no price of the token says whether it is worth its fee: 100000 of a denomination that is not named.",
    }),
    ledgerRetentionMs: setting("ledger-retention", duration({ zero: "refused" }), {
      default: formatDuration(journalLedgerKeepMs),
      doc: "How long the journal keeps the books: what each lease earned and brought in, and what was paid for it.",
    }),
  },
});
