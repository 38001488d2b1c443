/** The module that moves money between accounts. */
import * as cosmos from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { parseAddress } from "../../../../market/address.ts";
import { type Coin, formatCoins } from "../../../../market/coin.ts";
import { areValidCoins, readCoins, writeCoin, writeCoins } from "../../coins.ts";
import { checkedAddress, codespace, queriedAddress, sdkError } from "../../errors.ts";
import { type Context, type Module, messageEntry } from "../../module.ts";
import { paginate } from "../../paging.ts";
import { balanceOf, balanceTable, mayReceive, send, supplyTable } from "./balances.ts";

const bankError = codespace("bank", { sendDisabled: [5, "send transactions are disabled"] });

export const bankModule: Module = {
  messages: {
    "/cosmos.bank.v1beta1.MsgSend": messageEntry(cosmos.MsgSend, {
      signer({ fromAddress, amount }) {
        readCoins(amount);
        return fromAddress;
      },
      read: (wire) => wire,
      handle(context, { fromAddress, toAddress, amount }) {
        const coins = readCoins(amount);
        if (!areValidCoins(coins)) throw sdkError("invalidCoins", formatCoins(coins));
        const to = checkedAddress(toAddress, (why) => sdkError("invalidAddress", `invalid to address: ${why}`));
        mustBeSendable(coins);
        if (!mayReceive(to)) throw sdkError("unauthorized", `${to} is not allowed to receive funds`);
        send(context, parseAddress(fromAddress), to, coins);
      },
    }),
  },
  queries: {
    "/cosmos.bank.v1beta1.Query/Balance"(context, bytes) {
      const { address, denom } = cosmos.QueryBalanceRequest.decode(bytes);
      return cosmos.QueryBalanceResponse.encode({ balance: balance(context, address, denom) }).finish();
    },
    "/cosmos.bank.v1beta1.Query/AllBalances"(context, bytes) {
      const { address, pagination } = cosmos.QueryAllBalancesRequest.decode(bytes);
      return cosmos.QueryAllBalancesResponse.encode(balances(context, address, pagination)).finish();
    },
    "/cosmos.bank.v1beta1.Query/SpendableBalances"(context, bytes) {
      const { address, pagination } = cosmos.QuerySpendableBalancesRequest.decode(bytes);
      return cosmos.QuerySpendableBalancesResponse.encode(balances(context, address, pagination)).finish();
    },
    "/cosmos.bank.v1beta1.Query/SpendableBalanceByDenom"(context, bytes) {
      const { address, denom } = cosmos.QuerySpendableBalanceByDenomRequest.decode(bytes);
      return cosmos.QuerySpendableBalanceByDenomResponse.encode({ balance: balance(context, address, denom) }).finish();
    },
    "/cosmos.bank.v1beta1.Query/TotalSupply"(context, bytes) {
      const page = paginate(supplyTable(context), cosmos.QueryTotalSupplyRequest.decode(bytes).pagination);
      return cosmos.QueryTotalSupplyResponse.encode({ ...page, supply: writeCoins(page.items) }).finish();
    },
    "/cosmos.bank.v1beta1.Query/SupplyOf"(context, bytes) {
      const { denom } = cosmos.QuerySupplyOfRequest.decode(bytes);
      const coin = supplyTable(context).get(denom) ?? { denom, amount: 0n };
      return cosmos.QuerySupplyOfResponse.encode({ amount: writeCoin(coin) }).finish();
    },
    "/cosmos.bank.v1beta1.Query/SendEnabled"(_, bytes) {
      const { denoms } = cosmos.QuerySendEnabledRequest.decode(bytes);
      const selected = sendEnabled.filter(({ denom }) => denoms.length === 0 || denoms.includes(denom));
      const pagination = denoms.length === 0 ? { total: selected.length } : undefined;
      const found = cosmos.QuerySendEnabledResponse.fromPartial({
        sendEnabled: selected,
        ...(pagination && { pagination }),
      });
      return cosmos.QuerySendEnabledResponse.encode(found).finish();
    },
    "/cosmos.bank.v1beta1.Query/Params"() {
      const params = { sendEnabled: [], defaultSendEnabled: true };
      return cosmos.Bank_QueryParamsResponse.encode({ params }).finish();
    },
  },
};

/** As the network began: what pays for deployments is made by burning and goes into escrow, not from hand to hand. */
const sendEnabled = [
  { denom: "uact", enabled: false },
  { denom: "uakt", enabled: true },
];

function mustBeSendable(coins: readonly Coin[]): void {
  for (const { denom } of coins) {
    const known = sendEnabled.find((each) => each.denom === denom);
    if (known && !known.enabled) throw bankError("sendDisabled", `${denom} transfers are currently disabled`);
  }
}

function balance(context: Context, address: string, denom: string) {
  return writeCoin({ denom, amount: balanceOf(context, queriedAddress(address), denom) });
}

function balances(context: Context, address: string, request: cosmos.PageRequest | undefined) {
  const page = paginate(balanceTable(context), request, { prefix: `${queriedAddress(address)}/` });
  return { ...page, balances: writeCoins(page.items) };
}
