import { readFileSync } from "node:fs";
import { DirectSecp256k1HdWallet } from "@cosmjs/proto-signing";
import { createApp } from "../../src/box/chain/app.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { checkSdkClients } from "../support/contracts/sdk-clients.contract.ts";
import { startNode } from "../support/embedded-node.ts";

const tenantMnemonic = "test test test test test test test test test test test junk";
const providerMnemonic = `${"abandon ".repeat(11)}about`;
const coins = ["uact", "uakt"].map((denom) => ({ denom, amount: 1_000_000_000n }));

checkSdkClients({
  name: "the embedded node",
  async open(owner) {
    const wallets = [tenantMnemonic, providerMnemonic].map((words) =>
      DirectSecp256k1HdWallet.fromMnemonic(words, { prefix: "akash" }),
    );
    const people = (await Promise.all(wallets.map(async (wallet) => (await wallet).getAccounts()))).flat();
    const accounts = people.map(({ address }) => ({ address, coins }));
    const app = createApp({ chainId: "stranger-1", timeNs: BigInt(realClock.now()) * 1_000_000n, accounts });
    const { rpcUrl, grpcUrl } = await startNode(owner, { app, blockMs: 50 });
    return { rpcUrl, grpcUrl, tenantMnemonic, providerMnemonic, denom: "uact", pollMs: 25 };
  },
});

const rpcUrl = process.env["STRANGER_RPC"];
if (rpcUrl) {
  const grpcUrl = process.env["STRANGER_GRPC"] ?? "";
  checkSdkClients({
    name: rpcUrl,
    rpcOnly: grpcUrl === "",
    async open() {
      const tenantMnemonic = mnemonicIn("STRANGER_TENANT_MNEMONIC_FILE");
      const providerMnemonic = mnemonicIn("STRANGER_PROVIDER_MNEMONIC_FILE");
      const denom = process.env["STRANGER_DENOM"] ?? "uact";
      return { rpcUrl, grpcUrl, tenantMnemonic, providerMnemonic, denom, pollMs: 500 };
    },
  });
}

function mnemonicIn(variable: string): string {
  const file = process.env[variable];
  if (!file) throw new Error(`${variable} must name the file with the mnemonic of an account on ${rpcUrl}`);
  return readFileSync(file, "utf8").trim();
}
