/** The module that moves money between accounts. */
import {
  Bank_QueryParamsResponse,
  MsgSend,
  MsgSendResponse,
  QueryAllBalancesRequest,
  QueryAllBalancesResponse,
  QueryBalanceRequest,
  QueryBalanceResponse,
  QuerySendEnabledRequest,
  QuerySendEnabledResponse,
  QuerySpendableBalanceByDenomRequest,
  QuerySpendableBalanceByDenomResponse,
  QuerySpendableBalancesRequest,
  QuerySpendableBalancesResponse,
  QuerySupplyOfRequest,
  QuerySupplyOfResponse,
  QueryTotalSupplyRequest,
  QueryTotalSupplyResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { parseAddress } from "../../../../market/address.ts";
import { type Coin, formatCoins } from "../../../../market/coin.ts";
import { codespace } from "../../codespace.ts";
import { areValidCoins, readCoins, writeCoin, writeCoins } from "../../coins.ts";
import type { Context, Module } from "../../module.ts";
import { paginate } from "../../paging.ts";
import { askedAddress, checkedAddress, sdkRefusal } from "../../refusals.ts";
import { balanceOf, balanceTable, mayReceive, send, supplyTable } from "./balances.ts";

const bankRefusal = codespace("bank", { sendDisabled: [5, "send transactions are disabled"] });

export const bankModule: Module = {
  name: "bank",
  messages: {
    "/cosmos.bank.v1beta1.MsgSend": {
      signers(bytes) {
        const { fromAddress, amount } = MsgSend.decode(bytes);
        readCoins(amount);
        return [fromAddress];
      },
      handle(context, bytes) {
        const { fromAddress, toAddress, amount } = MsgSend.decode(bytes);
        const coins = readCoins(amount);
        if (!areValidCoins(coins)) throw sdkRefusal("invalidCoins", formatCoins(coins));
        const to = checkedAddress(toAddress, (why) => sdkRefusal("invalidAddress", `invalid to address: ${why}`));
        mustBeSendable(coins);
        if (!mayReceive(to)) throw sdkRefusal("unauthorized", `${to} is not allowed to receive funds`);
        send(context, parseAddress(fromAddress), to, coins);
        return MsgSendResponse.encode({}).finish();
      },
    },
  },
  queries: {
    "/cosmos.bank.v1beta1.Query/Balance"(context, bytes) {
      const { address, denom } = QueryBalanceRequest.decode(bytes);
      return QueryBalanceResponse.encode({ balance: balance(context, address, denom) }).finish();
    },
    "/cosmos.bank.v1beta1.Query/AllBalances"(context, bytes) {
      const { address, pagination } = QueryAllBalancesRequest.decode(bytes);
      const page = paginate(balanceTable(context), pagination, { prefix: `${askedAddress(address)}/` });
      const found = { balances: writeCoins(page.items), pagination: page.pagination };
      return QueryAllBalancesResponse.encode(found).finish();
    },
    "/cosmos.bank.v1beta1.Query/SpendableBalances"(context, bytes) {
      const { address, pagination } = QuerySpendableBalancesRequest.decode(bytes);
      const page = paginate(balanceTable(context), pagination, { prefix: `${askedAddress(address)}/` });
      const found = { balances: writeCoins(page.items), pagination: page.pagination };
      return QuerySpendableBalancesResponse.encode(found).finish();
    },
    "/cosmos.bank.v1beta1.Query/SpendableBalanceByDenom"(context, bytes) {
      const { address, denom } = QuerySpendableBalanceByDenomRequest.decode(bytes);
      return QuerySpendableBalanceByDenomResponse.encode({ balance: balance(context, address, denom) }).finish();
    },
    "/cosmos.bank.v1beta1.Query/TotalSupply"(context, bytes) {
      const page = paginate(supplyTable(context), QueryTotalSupplyRequest.decode(bytes).pagination);
      const found = { supply: writeCoins(page.items), pagination: page.pagination };
      return QueryTotalSupplyResponse.encode(found).finish();
    },
    "/cosmos.bank.v1beta1.Query/SupplyOf"(context, bytes) {
      const { denom } = QuerySupplyOfRequest.decode(bytes);
      const coin = supplyTable(context).get(denom) ?? { denom, amount: 0n };
      return QuerySupplyOfResponse.encode({ amount: writeCoin(coin) }).finish();
    },
    "/cosmos.bank.v1beta1.Query/SendEnabled"(_, bytes) {
      const { denoms } = QuerySendEnabledRequest.decode(bytes);
      const asked = sendEnabled.filter(({ denom }) => denoms.length === 0 || denoms.includes(denom));
      const pagination = denoms.length === 0 ? { total: asked.length } : undefined;
      const found = QuerySendEnabledResponse.fromPartial({ sendEnabled: asked, ...(pagination && { pagination }) });
      return QuerySendEnabledResponse.encode(found).finish();
    },
    "/cosmos.bank.v1beta1.Query/Params"() {
      const params = { sendEnabled: [], defaultSendEnabled: true };
      return Bank_QueryParamsResponse.encode({ params }).finish();
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
    if (known && !known.enabled) throw bankRefusal("sendDisabled", `${denom} transfers are currently disabled`);
  }
}

function balance(context: Context, address: string, denom: string) {
  return writeCoin({ denom, amount: balanceOf(context, askedAddress(address), denom) });
}
